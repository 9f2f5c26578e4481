// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The sum of squares: exact where it can be, finite where it should be, and independent of where the numbers
// lie.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/host.hpp>
#include <triax/kernels/norm.hpp>
#include <triax/optim/clip.hpp>
#include <triax/optim/sgd.hpp>

#include "optim/trained_parameter.hpp"
#include "support/numbers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

struct Sums {
  double squares = 0, infinite = 0;
};

Sums sums_of(const float* values, std::size_t size, Sums start = {}) {
  Host host;
  accumulate_squares(host, values, static_cast<std::int64_t>(size), &start.squares, &start.infinite);
  return start;
}
Sums sums_of(const std::vector<float>& values) { return sums_of(values.data(), values.size()); }

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("the sum of squares of whole numbers is exact at every size") {
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<float> values(size);
    double expected = 0;
    for (std::size_t i = 0; i < size; ++i) {
      values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
      expected += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    CHECK(sums_of(values).squares == expected);
    CHECK(sums_of(values).infinite == 0);
  }
}

TEST_CASE("squares are added in double") {
  // In fp32 the ones would vanish beside the first square.
  std::vector<float> values(1001, 1);
  values[0] = 8192;
  CHECK(sums_of(values).squares == 8192.0 * 8192.0 + 1000);
  // A square with 48 significant bits, and sums that go on where others ended.
  const float odd = 16777213;
  CHECK(sums_of(&odd, 1, {1, 2}).squares == 16777213.0 * 16777213.0 + 1);
  CHECK(sums_of(&odd, 1, {1, 2}).infinite == 2);
}

TEST_CASE("the sum of squares does not depend on the address") {
  const auto values = rounded_to<float>(random_values(1003, 3, -10, 10));
  const double expected = sums_of(values).squares;
  for (std::size_t shift = 1; shift < 18; ++shift) {
    std::vector<float> moved(shift);
    moved.insert(moved.end(), values.begin(), values.end());
    CHECK(sums_of(moved.data() + shift, values.size()).squares == expected);
  }
}

TEST_CASE("lanes are summed as documented") {
  // Doubles around 2^54 are 4 apart, so it shows which ones are added to each other before they meet 2^54.
  std::vector<float> values(32, 0);
  values[0] = 0x1p27F;
  values[16] = values[1] = values[2] = values[3] = values[4] = values[5] = values[6] = values[7] = 1;
  // Lost: 16, in the lane of 0; then 4, and 2 + 6, which meet it alone. Kept: (1 + 5) + (3 + 7).
  CHECK(sums_of(values).squares == 0x1p54 + 4);
  // Elements 9, 25 and 41 share a lane that element 1 is not in.
  values.assign(48, 0);
  values[1] = 0x1p27F;
  values[9] = values[25] = values[41] = 1;
  CHECK(sums_of(values).squares == 0x1p54 + 4);
}

TEST_CASE("elements that are not finite are counted wherever they are") {
  for (std::size_t size : {1U, 16U, 17U, 50U})
    for (std::size_t at = 0; at < size; ++at)
      for (const float bad : {infinity, -infinity, not_a_number}) {
        std::vector<float> values(size, 2);
        values[at] = bad;
        CHECK(sums_of(values).infinite == 1);
        CHECK_FALSE(std::isfinite(sums_of(values).squares));
      }
  CHECK(sums_of(&not_a_number, 1, {0, 2}).infinite == 3);
  CHECK(sums_of({not_a_number, 1, infinity, -infinity}).infinite == 3);
}

TEST_CASE("O-12 squares do not overflow") {
  const std::vector<float> gradient(100, 1e20F);
  const Sums sums = sums_of(gradient);
  CHECK(sums.infinite == 0);
  StepState state = at_rate(1);
  state.norm = std::sqrt(sums.squares);
  CHECK(state.norm == doctest::Approx(1e21).epsilon(1e-6));
  Host host;
  clip_norm(host, 1, &state);
  TrainedParameter parameter(std::vector<float>(100, 0));
  parameter.update(Sgd{}, gradient, state);
  for (const float weight : parameter.weights) CHECK(weight == doctest::Approx(-0.1).epsilon(1e-6));

  const std::vector<float> largest(1000, std::numeric_limits<float>::max());
  CHECK(sums_of(largest).infinite == 0);
  CHECK(std::isfinite(sums_of(largest).squares));
  CHECK(sums_of({std::numeric_limits<float>::denorm_min()}).squares == 0x1p-298);
}
