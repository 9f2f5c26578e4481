// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The bundled schedules: free of faults at compile time and at run time, with the promised slots.

#include "schedule/schedules.hpp"

#include <algorithm>
#include <concepts>
#include <span>

#include <doctest/doctest.h>

#include <triax/schedule/forward_only.hpp>
#include <triax/schedule/gpipe.hpp>
#include <triax/schedule/make_table.hpp>
#include <triax/schedule/one_f_one_b.hpp>

using namespace triax;
using namespace triax::test;

namespace {

// Documented slots of `rank`.
template <Schedule S>
constexpr int promised_slots(int rank, int ranks, int micro_batches) {
  if constexpr (std::same_as<S, OneFOneB>) return std::min(ranks - rank, micro_batches);
  if constexpr (std::same_as<S, ForwardOnly>) return std::min(2, micro_batches);
  return micro_batches;
}

template <Schedule S, int Ranks, int MicroBatches>
constexpr bool keeps_its_contract() {
  const auto& table = fixed_table<S, Ranks, MicroBatches>;
  for (int rank = 0; rank < Ranks; ++rank)
    if (table.slots(rank) != promised_slots<S>(rank, Ranks, MicroBatches)) return false;
  return table.fault == Fault::none;
}

template <Schedule S>
constexpr bool keeps_its_contract_everywhere() {
  return keeps_its_contract<S, 1, 1>() && keeps_its_contract<S, 1, 4>() && keeps_its_contract<S, 2, 1>() &&
         keeps_its_contract<S, 2, 2>() && keeps_its_contract<S, 2, 8>() && keeps_its_contract<S, 3, 5>() &&
         keeps_its_contract<S, 4, 1>() && keeps_its_contract<S, 4, 2>() && keeps_its_contract<S, 4, 3>() &&
         keeps_its_contract<S, 4, 4>() && keeps_its_contract<S, 4, 16>() && keeps_its_contract<S, 8, 1>() &&
         keeps_its_contract<S, 8, 5>() && keeps_its_contract<S, 8, 32>();
}
static_assert(keeps_its_contract_everywhere<GPipe>());
static_assert(keeps_its_contract_everywhere<OneFOneB>());
static_assert(keeps_its_contract_everywhere<ForwardOnly>());

static_assert(Schedule<GPipe> && Schedule<OneFOneB> && Schedule<ForwardOnly> && Schedule<TurningForTest>);
static_assert(!Schedule<int> && !Schedule<AnySchedule>);

// What later schedules need of tables: virtual stages, split backward passes, another placement.
static_assert(fixed_table<InterleavedForTest<2>, 4, 8>.fault == Fault::none);
static_assert(fixed_table<InterleavedForTest<3>, 2, 4>.fault == Fault::none);
static_assert(fixed_table<InterleavedForTest<2>, 1, 3>.fault == Fault::none);
static_assert(fixed_table<SplitForTest, 4, 8>.fault == Fault::none);
static_assert(fixed_table<SplitForTest, 4, 8>.slots(0) == 4 && fixed_table<SplitForTest, 4, 8>.slots(3) == 4);
static_assert(fixed_table<TurningForTest, 3, 4>.fault == Fault::none);

bool same_actions(std::span<const Action> a, std::span<const Action> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

template <Schedule S, int Ranks, int MicroBatches>
void check_same() {
  const auto& fixed = fixed_table<S, Ranks, MicroBatches>;
  const ScheduleTable table = make_table(S{}, Ranks, MicroBatches);
  for (int rank = 0; rank < Ranks; ++rank) {
    CHECK(same_actions(table.actions(rank), fixed.actions(rank)));
    CHECK(table.slots(rank) == fixed.slots(rank));
  }
}

}  // namespace

TEST_CASE("tables made at compile time and at run time are the same") {
  check_same<GPipe, 4, 3>();
  check_same<OneFOneB, 4, 16>();
  check_same<ForwardOnly, 3, 5>();
  check_same<InterleavedForTest<2>, 4, 8>();
  check_same<SplitForTest, 4, 8>();
}

TEST_CASE("O-31 fewer micro-batches than stages make a table without faults") {
  for (const AnySchedule& schedule :
       {AnySchedule(GPipe{}), AnySchedule(OneFOneB{}), AnySchedule(ForwardOnly{})})
    for (int ranks = 1; ranks <= 9; ++ranks)
      for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
        const ScheduleTable table = make_table(schedule, ranks, micro_batches);
        for (int rank = 0; rank < ranks; ++rank) CHECK(table.slots(rank) <= micro_batches);
      }
}

TEST_CASE("a table tells who holds what and who talks to whom") {
  const ScheduleTable table = make_table(TurningForTest{}, 3, 2);
  CHECK(table.positions() == 6);
  CHECK(table.position(1, 1) == 4);
  CHECK(table.rank_of(4) == 1);
  CHECK(table.virtual_stage_of(4) == 1);
  CHECK(table.previous_rank(0, 0) == -1);
  CHECK(table.next_rank(0, 1) == -1);
  CHECK(table.next_rank(2, 0) == 2);
  CHECK(table.peer(1, {.what = Do::receive_activation, .virtual_stage = 1}) == 2);
  CHECK(table.peer(1, {.what = Do::send_activation, .virtual_stage = 1}) == 0);
  CHECK(table.peer(1, {.what = Do::receive_gradient, .virtual_stage = 0}) == 2);
  CHECK(table.peer(1, {.what = Do::send_gradient, .virtual_stage = 0}) == 0);
  // The turn needs no message.
  for (const Action& action : table.actions(2)) {
    const bool sends_on = action.what == Do::send_activation && action.virtual_stage == 0;
    const bool receives_back = action.what == Do::receive_activation && action.virtual_stage == 1;
    CHECK_FALSE((sends_on || receives_back));
  }
}

TEST_CASE("the last backward of each virtual stage is marked") {
  for (const AnySchedule& schedule : {AnySchedule(OneFOneB{}), AnySchedule(InterleavedForTest<2>{}),
                                      AnySchedule(SplitForTest{}), AnySchedule(TurningForTest{})}) {
    const ScheduleTable table = make_table(schedule, 2, 4);
    const Do closing =
        schedule.passes == Passes::forward_backward_weight ? Do::backward_weight : Do::backward;
    for (int rank = 0; rank < 2; ++rank)
      for (int stage = 0; stage < table.virtual_stages(); ++stage) {
        int marks = 0, later = 0;
        for (const Action& action : table.actions(rank)) {
          if (action.virtual_stage != stage) continue;
          if (marks > 0 && (action.what == Do::backward || action.what == Do::backward_weight)) ++later;
          if (action.last) {
            ++marks;
            CHECK(action.what == closing);
          }
        }
        CHECK(marks == 1);
        CHECK(later == 0);
      }
  }
}

TEST_CASE("evaluation follows the placement of the training schedule") {
  const AnySchedule evaluation = forward_only(TurningForTest{});
  const ScheduleTable table = make_table(evaluation, 4, 5);
  CHECK(table.passes() == Passes::forward);
  CHECK(table.rank_of(7) == 0);
  CHECK(table.slots(0) == 2);
  CHECK(make_table(forward_only(InterleavedForTest<3>{}), 2, 4).positions() == 6);
}

TEST_CASE("in evaluation two slots alternate") {
  const ScheduleTable table = make_table(ForwardOnly{}, 2, 5);
  for (const Action& action : table.actions(1)) CHECK(action.slot == action.micro_batch % 2);
}
