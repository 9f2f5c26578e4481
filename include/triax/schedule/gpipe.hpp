// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// GPipe: all forward passes, then all backward passes.

#pragma once

#include <triax/schedule/schedule.hpp>

namespace triax {

/// Every rank keeps all micro-batches in flight. Huang et al., "GPipe: efficient training of giant neural
/// networks using pipeline parallelism", NeurIPS 2019, figure 2c; the backward passes run in rising order
/// here, so that gradients accumulate as in every other schedule.
struct GPipe {
  static constexpr const char* name = "gpipe";

  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < micro_batches; ++i) builder.forward(rank, i);
      for (int i = 0; i < micro_batches; ++i) builder.backward(rank, i);
    }
  }
};

}  // namespace triax
