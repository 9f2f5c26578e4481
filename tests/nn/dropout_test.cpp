// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/dropout.hpp>

#include "support/layer_harness.hpp"

namespace triax::test {
namespace {

static_assert(SplitLayer<Dropout>);

/// What dropout makes of ones, forward and backward.
LayerOutcome of_ones(const Shape& shape, std::int64_t first_sample, std::int64_t first_position,
                     std::int64_t step, std::uint64_t seed, const Dropout& dropout = {0.5}) {
  const std::vector<double> ones(static_cast<std::size_t>(shape.size()), 1);
  return run_layer<float>(dropout, {.shape = shape,
                                    .x = ones,
                                    .dy = ones,
                                    .batch = {.shape = {shape[0], shape[1]}, .first_sample = first_sample},
                                    .first_position = first_position,
                                    .step = step,
                                    .random_seed = seed});
}

TEST_CASE("Dropout keeps the mean, and backward has forward's mask") {
  const LayerOutcome found = of_ones({2, 8, 20}, 0, 0, 0, 1, {0.2});
  double sum = 0;
  for (const double value : found.y) {
    CHECK((value == 0 || value == 1.25));
    sum += value;
  }
  CHECK(std::abs(sum / static_cast<double>(found.y.size()) - 1) < 0.1);
  CHECK(same_bits(found.y, found.dx));
}

TEST_CASE("Dropout has the same mask however sequences and positions are cut") {
  const std::int64_t width = 7;
  const LayerOutcome whole = of_ones({4, 6, width}, 10, 0, 3, 1);
  std::vector<double> by_sequences;
  for (std::int64_t first = 0; first < 4; ++first) {
    const LayerOutcome part = of_ones({1, 6, width}, 10 + first, 0, 3, 1);
    by_sequences.insert(by_sequences.end(), part.y.begin(), part.y.end());
  }
  CHECK(same_bits(by_sequences, whole.y));

  const LayerOutcome late = of_ones({4, 2, width}, 10, 4, 3, 1);
  for (std::size_t sequence = 0; sequence < 4; ++sequence)
    for (std::size_t i = 0; i < 2 * 7; ++i)
      CHECK(late.y[sequence * 14 + i] == whole.y[sequence * 42 + 28 + i]);
}

TEST_CASE("Dropout has another mask for another sample, step or seed") {
  const Shape shape{1, 2, 64};
  const std::vector<double> y = of_ones(shape, 0, 0, 0, 1).y;
  CHECK(same_bits(of_ones(shape, 0, 0, 0, 1).y, y));
  CHECK_FALSE(same_bits(of_ones(shape, 1, 0, 0, 1).y, y));
  CHECK_FALSE(same_bits(of_ones(shape, 0, 1, 0, 1).y, y));
  CHECK_FALSE(same_bits(of_ones(shape, 0, 0, 1, 1).y, y));
  CHECK_FALSE(same_bits(of_ones(shape, 0, 0, 0, 2).y, y));
}

TEST_CASE_TEMPLATE("Dropout copies when not training, and with probability 0", T, float, bf16) {
  LayerCase given{.shape = {2, 3, 5},
                  .x = random_values<T>(30, 1),
                  .dy = random_values<T>(30, 2),
                  .batch = {.shape = {2, 3}}};
  CHECK(run_layer<T>(Dropout{0}, given).y == given.x);
  given.training = false;
  given.backward = false;
  CHECK(run_layer<T>(Dropout{0.5}, given).y == given.x);
}

TEST_CASE("Dropout refuses what is no probability below 1") {
  CHECK_NOTHROW(Dropout{0}.parameters());
  CHECK_THROWS_WITH_AS(Dropout{1}.parameters(),
                       "Dropout needs a probability of at least 0 and below 1, but has 1.000000",
                       ConfigError);
  CHECK_THROWS_AS(Dropout{-0.1}.parameters(), ConfigError);
  CHECK_THROWS_AS(Dropout{NAN}.parameters(), ConfigError);
}

}  // namespace
}  // namespace triax::test
