// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The feed-forward layer.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/check_gradients.hpp>
#include <triax/nn/mlp.hpp>

#include "support/layer_harness.hpp"
#include "support/products.hpp"

namespace triax::test {
namespace {

static_assert(SplitLayer<Mlp>);

/// `value` for every row, as the start of a product to which a bias is added.
std::vector<double> rows_of(const std::vector<double>& value, std::int64_t rows) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows; ++i) all.insert(all.end(), value.begin(), value.end());
  return all;
}

LayerCase make_case(const Mlp& layer, std::int64_t sequences, std::int64_t tokens) {
  const std::vector<std::int32_t> none(static_cast<std::size_t>(sequences * tokens));
  LayerCase given{.shape = {sequences, tokens, layer.width}};
  given.batch = {.shape = {sequences, tokens}, .inputs = none, .targets = none};
  given.x = random_values<bf16>(given.shape.size(), 1);
  given.dy = random_values<bf16>(given.shape.size(), 2);
  for (const Parameter& parameter : layer.parameters())
    given.parameters.push_back(random_values<bf16>(parameter.shape.size(), 3 + given.parameters.size()));
  return given;
}

TEST_CASE("the forward in double is the formula") {
  const Mlp layer{.width = 5, .hidden = 17};
  const LayerCase given = make_case(layer, 2, 3);
  auto inner = product({6, 17, 5}, given.x, false, given.parameters[Mlp::up], false,
                       rows_of(given.parameters[Mlp::up_bias], 6));
  for (double& x : inner)
    x = x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  const auto expected = product({6, 5, 17}, inner, false, given.parameters[Mlp::down], false,
                                rows_of(given.parameters[Mlp::down_bias], 6));
  CHECK(worst_error(run_layer<double>(layer, given).y, expected) < 1e-14);
}

TEST_CASE("gradients agree with differences") {
  for (const std::int64_t tokens : {1, 3}) {
    const auto report = check_gradients(Mlp{.width = 3, .hidden = 5}, {2, tokens, 3});
    CHECK_MESSAGE(report.ok(), to_string(report));
  }
}

TEST_CASE_TEMPLATE("narrower types agree with double", T, float, bf16) {
  const Mlp layer{.width = 7, .hidden = 33};
  for (const std::int64_t tokens : {1, 17, 65}) {
    const LayerCase given = make_case(layer, 1, tokens);
    const LayerOutcome exact = run_layer<double>(layer, given), outcome = run_layer<T>(layer, given);
    const double tolerance = 12 * unit_roundoff<T>();
    CHECK(worst_error(outcome.y, exact.y) < tolerance);
    CHECK(worst_error(outcome.dx, exact.dx) < tolerance);
    for (std::size_t i = 0; i < exact.gradients.size(); ++i)
      CHECK(worst_error(outcome.gradients[i], exact.gradients[i]) < tolerance);
  }
}

TEST_CASE("what a feed-forward layer declares, and what it refuses") {
  const Mlp layer{.width = 4, .hidden = 8};
  const auto parameters = layer.parameters();
  CHECK(parameters[Mlp::up].split == Split::columns);
  CHECK(parameters[Mlp::up_bias].split == Split::rows);
  CHECK(parameters[Mlp::down].split == Split::rows);
  CHECK(parameters[Mlp::down_bias].split == Split::none);
  CHECK_FALSE(parameters[Mlp::up_bias].decay);
  CHECK_FALSE(parameters[Mlp::down_bias].decay);
  LayerCase given = make_case(layer, 1, 2);
  given.shape = {2, 1, 5};
  CHECK_THROWS_AS(run_layer<float>(layer, given), ShapeError);
}

}  // namespace
}  // namespace triax::test
