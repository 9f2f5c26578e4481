// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/tokens.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

using Tokens = Tensor<const std::int32_t, Host>;
using Weights = Tensor<const float, Host>;

TEST_CASE("what a batch weighs") {
  Host host;
  const std::vector<std::int32_t> targets{3, -1, 0, -1, 7, 2};
  const std::vector<float> weights{0.5F, 8, 0, 0, 2, 1};
  const Shape shape{2, 3};
  const auto count = [&](Weights w, Tokens t, std::int32_t ignore) {
    double sum = 100;
    count_tokens(host, shape, w, t, ignore, Tensor<double, Host>(&sum, {1}));
    return sum - 100;
  };
  CHECK(count({weights.data(), shape}, {targets.data(), shape}, -1) == 3.5);
  CHECK(count({weights.data(), shape}, {targets.data(), shape}, 7) == 9.5);
  CHECK(count({weights.data(), shape}, {}, -1) == 11.5);
  CHECK(count({}, {targets.data(), shape}, -1) == 4);
  CHECK(count({}, {}, -1) == 6);
}

}  // namespace
}  // namespace triax
