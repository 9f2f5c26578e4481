// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Schedules that only the tests know: they reach the parts of tables that GPipe and 1F1B do not.

#pragma once

#include <triax/schedule/schedule.hpp>

namespace triax::test {

/// 1F1B over V round-robin virtual stages. Narayanan et al., SC 2021, section 2.2.
template <int V>
struct InterleavedForTest {
  static constexpr const char* name = "interleaved for a test";
  static constexpr int virtual_stages = V;

  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    if (micro_batches % ranks != 0) return builder.refuse();
    const int total = micro_batches * V;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto micro_batch = [&](int i) { return i / (ranks * V) * ranks + i % ranks; };
      const auto stage = [&](int i) { return i / ranks % V; };
      int warm_up = (ranks - rank - 1) * 2 + (V - 1) * ranks;
      warm_up = warm_up < total ? warm_up : total;
      int f = 0, b = 0;
      for (; f < warm_up; ++f) builder.forward(rank, micro_batch(f), stage(f));
      while (b < total) {
        if (f < total) builder.forward(rank, micro_batch(f), stage(f));
        ++f;
        builder.backward(rank, micro_batch(b), V - 1 - stage(b));
        ++b;
      }
    }
  }
};

/// 1F1B with split backward passes; the weight gradients of rank r lag r micro-batches behind.
/// Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, figure 2 (ZB-H1).
struct SplitForTest {
  static constexpr const char* name = "split for a test";
  static constexpr Passes passes = Passes::forward_backward_weight;

  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      int f = 0, b = 0, w = 0;
      for (; f < ranks - 1 - rank && f < micro_batches; ++f) builder.forward(rank, f);
      while (b < micro_batches) {
        if (f < micro_batches) builder.forward(rank, f++);
        builder.backward(rank, b++);
        if (b - w > rank) builder.backward_weight(rank, w++);
      }
      while (w < micro_batches) builder.backward_weight(rank, w++);
    }
  }
};

/// Two virtual stages a rank, the second placed in falling order: the model turns on the last rank.
struct TurningForTest {
  static constexpr const char* name = "turning for a test";
  static constexpr int virtual_stages = 2;
  static constexpr int placement(int rank, int virtual_stage, int ranks) {
    return virtual_stage == 0 ? rank : 2 * ranks - 1 - rank;
  }
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches; ++i) {
        builder.forward(rank, i, 0);
        builder.forward(rank, i, 1);
        builder.backward(rank, i, 1);
        builder.backward(rank, i, 0);
      }
  }
};

}  // namespace triax::test
