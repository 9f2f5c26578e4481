// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where pipelines and batches are cut.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <triax/engine/cut.hpp>
#include <triax/engine/micro_batches.hpp>

#include "support/numbers.hpp"

using namespace triax;

namespace {

std::vector<double> parts(const std::vector<double>& costs, const std::vector<int>& bounds) {
  std::vector<double> sums;
  for (std::size_t stage = 0; stage + 1 < bounds.size(); ++stage)
    sums.push_back(std::accumulate(costs.begin() + bounds[stage], costs.begin() + bounds[stage + 1], 0.0));
  return sums;
}

struct Quality {
  double dearest;
  double squares;
};
Quality quality(const std::vector<double>& costs, const std::vector<int>& bounds) {
  Quality q{0, 0};
  for (const double part : parts(costs, bounds)) {
    q.dearest = std::max(q.dearest, part);
    q.squares += part * part;
  }
  return q;
}

/// The best of all cuts into non-empty parts.
Quality best_of_all(const std::vector<double>& costs, std::vector<int> bounds, int stages) {
  const int units = static_cast<int>(costs.size());
  if (static_cast<int>(bounds.size()) == stages) {
    bounds.push_back(units);
    return quality(costs, bounds);
  }
  Quality best{1e300, 1e300};
  const int left = stages - static_cast<int>(bounds.size());  // parts that follow the next one
  for (int next = bounds.back() + 1; next <= units - left; ++next) {
    std::vector<int> longer = bounds;
    longer.push_back(next);
    const Quality q = best_of_all(costs, longer, stages);
    if (q.dearest < best.dearest || (q.dearest == best.dearest && q.squares < best.squares)) best = q;
  }
  return best;
}

}  // namespace

TEST_CASE("equal units are cut evenly, the earlier stages taking more") {
  CHECK(cut_by_cost(std::vector<double>(10, 1.0), 4) == std::vector<int>{0, 3, 6, 8, 10});
  CHECK(cut_by_cost(std::vector<double>(10, 0.1), 4) == std::vector<int>{0, 3, 6, 8, 10});
  CHECK(cut_by_cost(std::vector<double>(4, 7.0), 4) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(cut_by_cost(std::vector<double>(5, 7.0), 1) == std::vector<int>{0, 5});
  CHECK(cut_by_cost({0, 0, 0}, 2).size() == 3);
}

TEST_CASE("a dear unit stands alone") {
  CHECK(cut_by_cost({1, 1, 1, 10, 1, 1}, 3) == std::vector<int>{0, 3, 4, 6});
  CHECK(cut_by_cost({10, 1, 1, 1, 1, 1}, 2) == std::vector<int>{0, 1, 6});
}

TEST_CASE("no cut is better: all of them tried") {
  // Among them some whose evenest cut is not made of the cheapest cuts of fewer units.
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 96U, 370U, 1581U, 1880U}) {
    const int units = 3 + static_cast<int>(seed % 7);
    std::vector<double> costs = test::random_values(units, seed, 0, 10);
    for (double& cost : costs)
      cost = static_cast<double>(static_cast<int>(cost));  // sums are exact, ties are many
    for (int stages = 1; stages <= units; ++stages) {
      CAPTURE(seed);
      CAPTURE(stages);
      const std::vector<int> bounds = cut_by_cost(costs, stages);
      REQUIRE(static_cast<int>(bounds.size()) == stages + 1);
      CHECK(bounds.front() == 0);
      CHECK(bounds.back() == units);
      for (int stage = 0; stage < stages; ++stage)
        CHECK(bounds[static_cast<std::size_t>(stage)] < bounds[static_cast<std::size_t>(stage) + 1]);
      const Quality best = best_of_all(costs, {0}, stages);
      CHECK(quality(costs, bounds).dearest == best.dearest);
      CHECK(quality(costs, bounds).squares == best.squares);
    }
  }
}

TEST_CASE("fewer units than stages are refused") {
  CHECK_THROWS_WITH_AS(
      cut_by_cost({1, 1}, 3),
      "a pipeline of 3 stages needs at least as many units, but the model has 2; lower pp or add layers",
      ConfigError);
}

TEST_CASE("micro-batches are contiguous, none is empty, and their sizes differ by at most one") {
  for (std::int64_t sequences = 1; sequences <= 12; ++sequences) {
    for (int wanted = 1; wanted <= 14; ++wanted) {
      const MicroBatchCut cut(sequences, wanted);
      CHECK(cut.count() == std::min<std::int64_t>(wanted, sequences));
      std::int64_t next = 0;
      for (int i = 0; i < cut.count(); ++i) {
        CHECK(cut.first(i) == next);
        CHECK(cut.size(i) >= 1);
        CHECK(cut.size(i) <= cut.largest());
        CHECK(cut.size(i) >= cut.largest() - 1);
        next += cut.size(i);
      }
      CHECK(next == sequences);
      CHECK(cut.size(0) == cut.largest());  // the larger ones first
    }
  }
}
