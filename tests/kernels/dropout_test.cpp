// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/dropout.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

using test::tensor;

TEST_CASE_TEMPLATE("an element stays, scaled, or goes by the random bits of its place", T, float, double,
                   bf16, fp16) {
  Host host;
  const std::int64_t step = 3;
  const RandomSite site{.key = 17, .step = &step, .first_sample = 5, .positions = {7}};
  for (const double probability : {0.25, 0.5, 0.9}) {
    const auto threshold = static_cast<std::uint32_t>(probability * 4294967296.0);
    for (const std::int64_t width : {1, 3, 4, 30, 64, 65, 131}) {
      const Shape shape{2, 3, width};
      std::vector<T> x = test::rounded_to<T>(test::random_values<T>(shape.size(), 1));
      std::vector<T> y(x.size(), test::from_double<T>(99));
      dropout(host, tensor(x, shape), tensor(y, shape), site, probability);
      int wrong = 0;
      for (std::int64_t i = 0; i < shape.size(); ++i) {
        const std::int64_t feature = i % width;
        const auto bits =
            site(i / width / 3, i / width % 3, feature / 4)[static_cast<std::size_t>(feature % 4)];
        const auto factor = static_cast<accumulator_t<T>>(1 / (1 - probability));
        const auto kept =
            static_cast<T>(static_cast<accumulator_t<T>>(x[static_cast<std::size_t>(i)]) * factor);
        const double wanted = bits < threshold ? 0 : test::to_double(kept);
        if (test::to_double(y[static_cast<std::size_t>(i)]) != wanted) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the dropped share is the probability") {
  Host host;
  const std::int64_t step = 0;
  const Shape shape{4, 16, 256};
  std::vector<float> x(static_cast<std::size_t>(shape.size()), 1);
  std::vector<float> y(x.size());
  for (const double probability : {0.1, 0.5, 0.75}) {
    dropout(host, tensor(x, shape), tensor(y, shape), {.key = 3, .step = &step}, probability);
    double dropped = 0;
    for (const float value : y) dropped += value == 0 ? 1 : 0;
    const double deviation = std::sqrt(probability * (1 - probability) / static_cast<double>(y.size()));
    CHECK(std::abs(dropped / static_cast<double>(y.size()) - probability) < 4 * deviation);
  }
}

TEST_CASE("what is dropped is zero even if it is not a number") {
  Host host;
  const std::int64_t step = 0;
  const Shape shape{1, 1, 64};
  std::vector<float> x(64, NAN);
  std::vector<float> y(64);
  dropout(host, tensor(x, shape), tensor(y, shape), {.key = 3, .step = &step}, 0.5);
  int zeros = 0;
  for (const float value : y) zeros += value == 0 ? 1 : 0;
  CHECK(zeros > 16);
  CHECK(zeros < 48);
}

TEST_CASE("the extreme probabilities") {
  constexpr DropoutRule never(0);
  static_assert(never.threshold == 0 && never.factor == 1);
  constexpr DropoutRule nearly_always(1 - 0x1p-50);
  static_assert(nearly_always.threshold == 0xffffffff);
}

}  // namespace
}  // namespace triax
