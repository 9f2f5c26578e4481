// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The share of a pipeline's time in which ranks wait.

#pragma once

#include <triax/schedule/execution.hpp>
#include <triax/schedule/make_table.hpp>

namespace triax {

/// The idle share of `ranks x makespan`, in [0, 1], found by executing a verified table with these durations
/// (in any unit, per virtual stage). For GPipe and 1F1B with P ranks and M micro-batches it is (P - 1) / (M +
/// P - 1). `t_backward_weight` counts only where backward passes are split; `t_backward` is then the other
/// half alone.
constexpr double bubble(const ScheduleTable& table, double t_forward, double t_backward,
                        double t_backward_weight = 0) {
  const Execution execution = execute(table, {t_forward, t_backward, t_backward_weight});
  return execution.makespan > 0 ? 1 - execution.busy / (execution.makespan * table.ranks()) : 0;
}

/// The same for fixed extents: `static_assert(bubble(fixed_table<OneFOneB, 4, 32>, 1, 2) < 0.1)`.
template <Schedule S, int Ranks, int MicroBatches>
constexpr double bubble(const FixedTable<S, Ranks, MicroBatches>&, double t_forward, double t_backward,
                        double t_backward_weight = 0) {
  return bubble(generate_table(S{}, Ranks, MicroBatches), t_forward, t_backward, t_backward_weight);
}

}  // namespace triax
