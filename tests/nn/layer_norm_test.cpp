// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/layer_norm.hpp>

#include "support/layer_harness.hpp"

namespace triax::test {
namespace {

static_assert(SplitLayer<LayerNorm>);

TEST_CASE_TEMPLATE("LayerNorm scales and shifts features of mean 0 and variance 1", T, float, bf16) {
  constexpr std::size_t width = 13;
  LayerCase given{.shape = {2, 3, width},
                  .x = random_values<T>(78, 1),
                  .parameters = {random_values<T>(width, 2), random_values<T>(width, 3)},
                  .dy = random_values<T>(78, 4),
                  .batch = {.shape = {2, 3}}};
  const LayerOutcome found = run_layer<T>(LayerNorm{width}, given);

  std::vector<double> y(78);
  std::vector<double> shift_gradient(width);
  for (std::size_t at = 0; at < 78; at += width) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = at; i < at + width; ++i) mean += given.x[i] / width;
    for (std::size_t i = at; i < at + width; ++i) variance += std::pow(given.x[i] - mean, 2) / width;
    for (std::size_t i = 0; i < width; ++i) {
      const double normal = (given.x[at + i] - mean) / std::sqrt(variance + 1e-5);
      y[at + i] = normal * given.parameters[0][i] + given.parameters[1][i];
      shift_gradient[i] += given.dy[at + i];
    }
  }
  CHECK(found.shape == given.shape);
  CHECK(worst_error(found.y, y) < 2 * tolerance<T>());
  CHECK(worst_error(found.gradients[LayerNorm::shift], shift_gradient) < 1e-5);
  CHECK(found.asked == std::vector<bool>{true, true});
}

TEST_CASE("the parameters of LayerNorm start as the identity and do not decay") {
  const auto parameters = LayerNorm{7}.parameters();
  CHECK(parameters[LayerNorm::scale].name == "scale");
  CHECK(parameters[LayerNorm::scale].init == Initialiser::ones());
  CHECK(parameters[LayerNorm::shift].name == "shift");
  CHECK(parameters[LayerNorm::shift].init == Initialiser::zeros());
  for (const Parameter& parameter : parameters) {
    CHECK(parameter.shape == Shape{7});
    CHECK_FALSE(parameter.decay);
  }
}

TEST_CASE("LayerNorm refuses a stream of another width") {
  const LayerCase given{.shape = {2, 3, 4}, .x = random_values(24, 1), .batch = {.shape = {2, 3}}};
  CHECK_THROWS_WITH_AS(run_layer<float>(LayerNorm{5}, given),
                       "LayerNorm takes a stream of shape [sequences, tokens, 5], but one of shape [2, 3, 4] "
                       "reached it; make the widths of the layers agree",
                       ShapeError);
}

}  // namespace
}  // namespace triax::test
