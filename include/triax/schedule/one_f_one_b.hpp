// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// 1F1B: forward and backward passes alternate once the pipeline is full.

#pragma once

#include <triax/schedule/schedule.hpp>

namespace triax {

/// Rank r of P keeps at most min(P - r, micro-batches) micro-batches in flight; the bubble is that of GPipe.
/// Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021, section 3.2
/// (PipeDream-Flush).
struct OneFOneB {
  static constexpr const char* name = "1f1b";

  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int ranks_behind = ranks - 1 - rank;
      const int warm_up = ranks_behind < micro_batches ? ranks_behind : micro_batches;
      int forward = 0, backward = 0;
      while (forward < warm_up) builder.forward(rank, forward++);
      while (forward < micro_batches) {
        builder.forward(rank, forward++);
        builder.backward(rank, backward++);
      }
      while (backward < micro_batches) builder.backward(rank, backward++);
    }
  }
};

}  // namespace triax
