// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The bubble: formulas of the literature against the executed table.

#include <doctest/doctest.h>

#include <triax/schedule/bubble.hpp>
#include <triax/schedule/gpipe.hpp>
#include <triax/schedule/one_f_one_b.hpp>

#include "schedule/schedules.hpp"

using namespace triax;
using namespace triax::test;

namespace {

// Rank 0 as in GPipe; rank 1 takes each micro-batch forward and back at once.
struct AllForwardAgainstPairs {
  static constexpr const char* name = "all forward against pairs";
  static constexpr void generate(ScheduleBuilder& builder, int, int micro_batches) {
    for (int i = 0; i < micro_batches; ++i) builder.forward(0, i);
    for (int i = 0; i < micro_batches; ++i) builder.backward(0, i);
    for (int i = 0; i < micro_batches; ++i) {
      builder.forward(1, i);
      builder.backward(1, i);
    }
  }
};

}  // namespace

static_assert(bubble(fixed_table<OneFOneB, 4, 32>, 1, 2) < 0.1);
static_assert(bubble(fixed_table<OneFOneB, 1, 4>, 1, 2) == 0);

TEST_CASE("GPipe and 1F1B idle (P - 1) / (M + P - 1) of the time") {
  for (int ranks : {1, 2, 4, 8})
    for (int micro_batches : {1, 2, 3, 8, 20})
      for (double backward : {1.0, 2.0, 2.5}) {
        const double expected = (ranks - 1.0) / (micro_batches + ranks - 1.0);
        CHECK(bubble(make_table(GPipe{}, ranks, micro_batches), 1, backward) == doctest::Approx(expected));
        CHECK(bubble(make_table(OneFOneB{}, ranks, micro_batches), 1, backward) == doctest::Approx(expected));
      }
}

TEST_CASE("interleaving divides the bubble, as Narayanan et al., SC 2021, section 2.2 says") {
  // (P - 1) / V of a micro-batch's time is lost beside the M that are used.
  const double lost = 3.0 / 2;
  CHECK(bubble(make_table(InterleavedForTest<2>{}, 4, 16), 0.5, 1) == doctest::Approx(lost / (16 + lost)));
}

TEST_CASE("split backward passes divide the bubble by three when all parts take equally long") {
  // Qi et al., ICLR 2024, table 1: the idle time is (P - 1)(F + B - W) where that of 1F1B is (P - 1)(F + B +
  // W).
  CHECK(bubble(make_table(SplitForTest{}, 4, 12), 1, 1, 1) == doctest::Approx(3.0 / (3 * 12 + 3)));
}

TEST_CASE("a sender waits while two of its messages are not received") {
  // Rank 1 receives its messages at 1, 12, 23, 34 and 45. Rank 0 may send the fifth when the third has been
  // received, at 23; then its backward passes follow without a pause. With unbounded channels it would be
  // done at 66.
  const Execution execution =
      execute(make_table(AllForwardAgainstPairs{}, 2, 5), {.forward = 1, .backward = 10});
  CHECK(execution.makespan == 23 + 5 * 10);
  CHECK(execution.busy == 2 * 5 * 11);
}
