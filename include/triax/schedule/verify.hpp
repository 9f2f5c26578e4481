// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Proves that an action table trains right and cannot deadlock.

#pragma once

#include <triax/schedule/execution.hpp>
#include <triax/schedule/table.hpp>

namespace triax {

/// Checks that every rank does each needed kind of action once for each micro-batch and virtual stage,
/// nothing else, and that each virtual stage makes each of its passes in rising order of micro-batches. This
/// says nothing of the order between kinds or ranks.
constexpr Verdict check_work(const ScheduleTable& table) {
  const int stages = table.virtual_stages(), micro_batches = table.micro_batches();
  constexpr ActionSet passes = set_of(Do::forward) | set_of(Do::backward) | set_of(Do::backward_weight);
  for (int rank = 0; rank < table.ranks(); ++rank) {
    detail::ConstexprArray<ActionSet> done(stages * micro_batches);
    detail::ConstexprArray<int> next(stages * action_kinds);  // the micro-batch that is due
    const auto actions = table.actions(rank);
    const Action* action = actions.data();
    int out_of_order = -1;
    for (int i = 0; i < static_cast<int>(actions.size()); ++i, ++action) {
      const int stage = action->virtual_stage, kind = static_cast<int>(action->what);
      const ActionSet set = 1U << kind;
      ActionSet& seen = done.data[stage * micro_batches + action->micro_batch];
      if (!(table.needed(rank, stage) & set)) return {Fault::unexpected_work, rank, i};
      if (seen & set) return {Fault::repeated_work, rank, i};
      seen |= set;
      const bool rising = next.data[stage * action_kinds + kind]++ == action->micro_batch;
      if (!rising && (set & passes) && out_of_order < 0) out_of_order = i;
    }
    for (int stage = 0; stage < stages; ++stage)
      for (int i = 0; i < micro_batches; ++i)
        if (done.data[stage * micro_batches + i] != table.needed(rank, stage))
          return {Fault::missing_work, rank};
    if (out_of_order >= 0) return {Fault::accumulation_order, rank, out_of_order};
  }
  return {};
}

/// The first fault of a table, in the order of Fault; none proves that on channels which keep messages in
/// order and hold two of them, every rank completes all passes of every micro-batch, with every input present
/// when it is read.
constexpr Verdict verify(const ScheduleTable& table) {
  if (table.fault() != Fault::none) return table.verdict();
  const Verdict work = check_work(table);
  return work.fault != Fault::none ? work : execute(table).verdict;
}

}  // namespace triax
