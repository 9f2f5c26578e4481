// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/mean_squared_error.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

using test::tensor;

TEST_CASE_TEMPLATE("squared differences and their gradient agree with the definition", T, float, double, bf16,
                   fp16) {
  Host host;
  const float seed = 0.25F;
  for (const std::int64_t columns : {1, 3, 8, 45}) {
    for (const bool weighted : {false, true}) {
      const std::size_t n = static_cast<std::size_t>(columns);
      const std::vector<double> x = test::random_values<T>(3 * columns, 1);
      std::vector<float> targets;
      for (const double value : test::random_values(3 * columns, 2))
        targets.push_back(static_cast<float>(value));
      const std::vector<float> weights{0.5F, 0, 3};
      std::vector<T> given = test::rounded_to<T>(x);
      if (weighted) given[n] = test::from_double<T>(NAN);  // in the row of weight 0

      LossSum loss{-1, -1};
      std::vector<T> gradient(x.size(), test::from_double<T>(99));
      const Shape shape{1, 3, columns};
      const Tensor<const float, Host> target(targets.data(), shape);
      const auto weight =
          weighted ? Tensor<const float, Host>(weights.data(), {1, 3}) : Tensor<const float, Host>{};
      mean_squared_error(host, tensor(given, shape), target, weight, Tensor<LossSum, Host>(&loss, {1}));
      mean_squared_error_gradient(host, tensor(given, shape), target, weight, &seed, tensor(gradient, shape));

      LossSum wanted;
      std::vector<double> wanted_gradient(x.size());
      for (std::size_t row = 0; row < 3; ++row) {
        const double w = weighted ? static_cast<double>(weights[row]) : 1;
        wanted.weight += w;
        for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
          const double d = x[i] - static_cast<double>(targets[i]);
          wanted.sum += w * d * d / static_cast<double>(columns);
          wanted_gradient[i] = 2 * w * d * static_cast<double>(seed) / static_cast<double>(columns);
        }
      }
      CHECK(std::abs(loss.sum - wanted.sum) < 1e-6 * wanted.sum);
      CHECK(loss.weight == wanted.weight);
      CHECK(test::worst_error(test::to_doubles(gradient), wanted_gradient) < test::tolerance<T>());
    }
  }
}

}  // namespace
}  // namespace triax
