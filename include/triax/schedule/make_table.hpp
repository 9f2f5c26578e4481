// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Makes verified action tables, at run time and at compile time.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <triax/core/error.hpp>
#include <triax/schedule/any_schedule.hpp>
#include <triax/schedule/slots.hpp>
#include <triax/schedule/table.hpp>
#include <triax/schedule/verify.hpp>

namespace triax {

/// The table of a schedule: generated, verified, and, if free of faults, with slots assigned. Never throws;
/// the fault is in the table.
constexpr ScheduleTable generate_table(const AnySchedule& schedule, int ranks, int micro_batches) {
  ScheduleTable table(schedule.shape(ranks, micro_batches));
  if (table.fault() != Fault::none) return table;
  ScheduleBuilder builder(table);
  schedule.generate(builder, ranks, micro_batches);
  table.record(verify(table));
  if (table.fault() == Fault::none) assign_slots(table);
  return table;
}

/// What is wrong with a table, as one sentence: the schedule, the extents, the fault, and the action at
/// fault.
inline std::string describe_fault(const AnySchedule& schedule, int ranks, int micro_batches,
                                  const ScheduleTable& table) {
  std::string text = std::string("schedule '") + schedule.name + "' with " + std::to_string(ranks) +
                     " ranks and " + std::to_string(micro_batches) + " micro-batches " +
                     sentence(table.fault());
  const Verdict& at = table.verdict();
  if (at.rank >= 0) text += "; first on rank " + std::to_string(at.rank);
  if (at.action >= 0) {
    const Action& action = table.actions(at.rank)[static_cast<std::size_t>(at.action)];
    text += ", action " + std::to_string(at.action) + ": " + name(action.what) + " of micro-batch " +
            std::to_string(action.micro_batch) + ", virtual stage " + std::to_string(action.virtual_stage);
  }
  return text;
}

/// The verified table of a schedule for `ranks` pipeline ranks. Throws ConfigError with the fault's sentence.
inline ScheduleTable make_table(const AnySchedule& schedule, int ranks, int micro_batches) {
  ScheduleTable table = generate_table(schedule, ranks, micro_batches);
  if (table.fault() != Fault::none) throw ConfigError(describe_fault(schedule, ranks, micro_batches, table));
  return table;
}

/// A table whose extents are known to the compiler: plain arrays, so that it can live in a constexpr
/// variable.
template <Schedule S, int Ranks, int MicroBatches>
struct FixedTable {
  static constexpr int capacity = AnySchedule(S{}).shape(Ranks, MicroBatches).most_actions();

  Fault fault = Fault::none;
  int action_counts[Ranks]{};
  int slot_counts[Ranks]{};
  Action rows[Ranks][capacity]{};

  static constexpr int ranks() { return Ranks; }
  static constexpr int micro_batches() { return MicroBatches; }
  constexpr std::span<const Action> actions(int rank) const {
    return {rows[rank], static_cast<std::size_t>(action_counts[rank])};
  }
  constexpr int slots(int rank) const { return slot_counts[rank]; }
};

namespace detail {

template <Schedule S, int Ranks, int MicroBatches>
constexpr auto fix_table() {
  const ScheduleTable table = generate_table(S{}, Ranks, MicroBatches);
  FixedTable<S, Ranks, MicroBatches> fixed;
  fixed.fault = table.fault();
  for (int rank = 0; rank < table.ranks(); ++rank) {
    const int count = static_cast<int>(table.actions(rank).size());
    fixed.slot_counts[rank] = table.slots(rank);
    fixed.action_counts[rank] = count;
    const Action* const actions = table.actions(rank).data();
    for (int i = 0; i < count; ++i) fixed.rows[rank][i] = actions[i];
  }
  return fixed;
}

}  // namespace detail

/// The table of a schedule for fixed extents:
/// `static_assert(fixed_table<OneFOneB, 4, 8>.fault == Fault::none)`,
/// `static_assert(fixed_table<...>.slots(0) <= 4)`.
/// With clang's default limit on evaluation steps it may hold some 12 000 actions (8 ranks, 256
/// micro-batches).
template <Schedule S, int Ranks, int MicroBatches>
inline constexpr auto fixed_table = detail::fix_table<S, Ranks, MicroBatches>();

}  // namespace triax
