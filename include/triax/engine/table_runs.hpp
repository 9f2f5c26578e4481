// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The tables that a rank carries out, made once for each number of micro-batches.

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <triax/engine/stage_pass.hpp>
#include <triax/schedule/make_table.hpp>

namespace triax {

/// A table, and this rank's units in the order in which the table visits them.
struct TableRun {
  int micro_batches;
  ScheduleTable table;
  std::vector<int> visits;
};

/// The tables of one schedule for the rank at `stage` of `stages`.
class TableRuns {
 public:
  TableRuns(const AnySchedule& schedule, int stages, int stage, const StageBounds& bounds)
      : schedule_(schedule), stages_(stages), stage_(stage), bounds_(bounds) {}

  /// The table for so many micro-batches; made, and verified, when it is first asked for.
  const TableRun& of(int micro_batches) {
    for (const auto& run : runs_)
      if (run->micro_batches == micro_batches) return *run;
    auto run = std::make_unique<TableRun>(
        TableRun{micro_batches, make_table(schedule_, stages_, micro_batches), {}});
    for (const Action& action : run->table.actions(stage_)) {
      if (action.what == Do::forward)
        for (int unit = bounds_.first_unit; unit < bounds_.last_unit; ++unit) run->visits.push_back(unit);
      if (action.what == Do::backward)
        for (int unit = bounds_.last_unit; unit-- > bounds_.first_unit;) run->visits.push_back(unit);
    }
    return *runs_.emplace_back(std::move(run));
  }

 private:
  AnySchedule schedule_;
  int stages_;
  int stage_;
  StageBounds bounds_;
  std::vector<std::unique_ptr<TableRun>> runs_;
};

}  // namespace triax
