// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Tables are run with real numbers by a machine that knows nothing of the verifier; both must agree on right
// and wrong.

#include "schedule/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>

#include <doctest/doctest.h>

#include <triax/schedule/forward_only.hpp>
#include <triax/schedule/gpipe.hpp>
#include <triax/schedule/make_table.hpp>
#include <triax/schedule/one_f_one_b.hpp>

#include "schedule/schedules.hpp"

using namespace triax;
using namespace triax::test;

namespace {

Machine machine_for(const AnySchedule& schedule, int ranks, int micro_batches) {
  return {ranks, micro_batches, schedule.virtual_stages, schedule.passes, schedule.placement};
}

Machine::Rows rows_of(const ScheduleTable& table) {
  Machine::Rows rows;
  for (int rank = 0; rank < table.ranks(); ++rank)
    rows.emplace_back(table.actions(rank).begin(), table.actions(rank).end());
  return rows;
}

const AnySchedule every_schedule[] = {GPipe{},
                                      OneFOneB{},
                                      ForwardOnly{},
                                      InterleavedForTest<2>{},
                                      SplitForTest{},
                                      TurningForTest{},
                                      forward_only(TurningForTest{})};

// Changes one thing about the rows, as a careless generator would.
void damage(Machine::Rows& rows, const TableShape& shape, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  auto& row = rows[below(rows.size())];
  if (row.size() < 2) return;
  const std::size_t i = below(row.size()), j = below(row.size()), near = i + 1 < row.size() ? i + 1 : 0;
  const auto at = [&](std::size_t index) { return row.begin() + static_cast<std::ptrdiff_t>(index); };
  switch (below(7)) {
    case 0:
      std::swap(row[i], row[j]);
      break;
    case 1:
      std::swap(row[i], row[near]);
      break;
    case 2:
      row.erase(at(i));
      break;
    case 3:
      row.insert(at(j), Action(row[i]));
      break;
    case 4:
      row[i].micro_batch = static_cast<std::uint16_t>(below(static_cast<std::size_t>(shape.micro_batches)));
      break;
    case 5:
      row[i].virtual_stage = static_cast<std::uint8_t>(below(static_cast<std::size_t>(shape.virtual_stages)));
      break;
    default:
      row[i].what = static_cast<Do>(below(action_kinds));
      break;
  }
}

}  // namespace

TEST_CASE("every table computes what one rank computes, in its slots and in any interleaving") {
  for (const AnySchedule& schedule : every_schedule)
    for (int ranks = 1; ranks <= 5; ++ranks)
      for (int micro_batches = 1; micro_batches <= 6; ++micro_batches) {
        const ScheduleTable table = generate_table(schedule, ranks, micro_batches);
        if (table.fault() == Fault::extents) continue;
        CAPTURE(schedule.name);
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        REQUIRE(table.fault() == Fault::none);
        Machine machine = machine_for(schedule, ranks, micro_batches);
        for (unsigned seed = 0; seed < 3; ++seed) CHECK(machine.trains(rows_of(table), seed, true));
        for (int rank = 0; rank < ranks; ++rank)
          for (const Action& action : table.actions(rank)) CHECK(action.slot < table.slots(rank));
      }
}

TEST_CASE("the machine notices a slot that is used twice at once") {
  Machine::Rows rows = rows_of(make_table(OneFOneB{}, 3, 4));
  for (Action& action : rows[0]) action.slot = action.slot == 2 ? std::uint16_t{1} : action.slot;
  CHECK_FALSE(machine_for(OneFOneB{}, 3, 4).trains(rows, 0, true));
}

TEST_CASE("verifier and machine agree on damaged tables") {
  std::mt19937 random(7);
  int right = 0, wrong = 0;
  for (int trial = 0; trial < 12000; ++trial) {
    const AnySchedule& schedule = every_schedule[static_cast<std::size_t>(trial) % std::size(every_schedule)];
    const int ranks = 2 + static_cast<int>(random() % 2);
    const int micro_batches = ranks * (1 + static_cast<int>(random() % 2));
    Machine::Rows rows = rows_of(make_table(schedule, ranks, micro_batches));
    const TableShape shape = schedule.shape(ranks, micro_batches);
    for (unsigned damages = 1 + random() % 2; damages > 0; --damages) damage(rows, shape, random);

    ScheduleTable table(shape);
    for (std::size_t rank = 0; rank < rows.size(); ++rank)
      for (const Action& action : rows[rank])
        table.append(static_cast<int>(rank), action.what, action.micro_batch, action.virtual_stage);
    const bool verifies = verify(table).fault == Fault::none;
    const bool trains =
        machine_for(schedule, ranks, micro_batches).trains(rows, static_cast<unsigned>(trial), false);
    ++(verifies ? right : wrong);
    INFO(trial, " ", schedule.name, " ", sentence(verify(table).fault));
    CHECK(verifies == trains);
  }
  CHECK(right > 200);  // harmless damage is among the trials: the verifier does not refuse everything
  CHECK(wrong > 5000);
}
