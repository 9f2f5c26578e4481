// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Forward passes only, for evaluation and inference.

#pragma once

#include <triax/schedule/any_schedule.hpp>

namespace triax {

/// Every micro-batch passes through all virtual stages of a rank before the next begins there, so two
/// alternating slots suffice wherever the virtual stages are placed.
struct ForwardOnly {
  static constexpr const char* name = "forward_only";
  static constexpr Passes passes = Passes::forward;

  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches; ++i)
        for (int stage = 0; stage < builder.virtual_stages(); ++stage) builder.forward(rank, i, stage);
  }
};

/// ForwardOnly over the virtual stages of a training schedule, where that schedule has placed them.
constexpr AnySchedule forward_only(const AnySchedule& training) {
  AnySchedule evaluation = ForwardOnly{};
  evaluation.virtual_stages = training.virtual_stages;
  evaluation.placement = training.placement;
  return evaluation;
}

}  // namespace triax
