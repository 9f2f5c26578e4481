// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Into how many parts a step's batch is cut.

#pragma once

#include <triax/parallel/policies/axis.hpp>

namespace triax {

/// Marks a number that a policy's value holds.
inline constexpr int run_time_count = 0;

/// Cuts each rank's batch into micro-batches whose gradients add up: for pipelines, or to save activation
/// memory. `MicroBatches{8}`, or, where a fixed schedule is to be checked by the compiler, `MicroBatches<8>`.
template <int N = run_time_count>
struct MicroBatches {
  using axis = triax::axis::micro_batches;

  static constexpr int count = N;
};
template <>
struct MicroBatches<run_time_count> {
  using axis = triax::axis::micro_batches;

  int count = 1;
};
MicroBatches(int) -> MicroBatches<run_time_count>;

}  // namespace triax
