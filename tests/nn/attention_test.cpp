// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Causal self-attention as a layer.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/attention.hpp>
#include <triax/nn/check_gradients.hpp>

#include "support/attention_reference.hpp"
#include "support/layer_harness.hpp"
#include "support/products.hpp"

namespace triax::test {
namespace {

using Layer = CausalSelfAttention;
static_assert(SplitLayer<Layer>);

std::vector<double> rows_of(const std::vector<double>& value, std::int64_t rows) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows; ++i) all.insert(all.end(), value.begin(), value.end());
  return all;
}

LayerCase make_case(const Layer& layer, std::int64_t sequences, std::int64_t tokens) {
  const std::vector<std::int32_t> none(static_cast<std::size_t>(sequences * tokens));
  LayerCase given{.shape = {sequences, tokens, layer.width}};
  given.batch = {.shape = {sequences, tokens}, .inputs = none, .targets = none};
  given.x = random_values<bf16>(given.shape.size(), 1);
  given.dy = random_values<bf16>(given.shape.size(), 2);
  for (const Parameter& parameter : layer.parameters())
    given.parameters.push_back(random_values<bf16>(parameter.shape.size(), 3 + given.parameters.size()));
  given.first_position = 11;
  return given;
}

TEST_CASE("the forward in double is the formula") {
  const Layer layer{.width = 6, .heads = 3};
  const LayerCase given = make_case(layer, 2, 5);
  const auto qkv = product({10, 18, 6}, given.x, false, given.parameters[Layer::qkv], false,
                           rows_of(given.parameters[Layer::qkv_bias], 10));
  const auto attended = attention_reference(qkv, given.dy, 2, 5, 3, 2).output;
  const auto expected = product({10, 6, 6}, attended, false, given.parameters[Layer::out], false,
                                rows_of(given.parameters[Layer::out_bias], 10));
  CHECK(worst_error(run_layer<double>(layer, given).y, expected) < 1e-14);
}

TEST_CASE("gradients agree with differences") {
  for (const std::int64_t tokens : {1, 5}) {
    const auto report = check_gradients(Layer{.width = 6, .heads = 2}, {2, tokens, 6});
    CHECK_MESSAGE(report.ok(), to_string(report));
  }
}

TEST_CASE_TEMPLATE("narrower types agree with double", T, float, bf16) {
  const Layer layer{.width = 8, .heads = 2};
  for (const std::int64_t tokens : {1, 3, 65}) {
    const LayerCase given = make_case(layer, 2, tokens);
    const LayerOutcome exact = run_layer<double>(layer, given), outcome = run_layer<T>(layer, given);
    const double tolerance = 40 * unit_roundoff<T>();
    CHECK(worst_error(outcome.y, exact.y) < tolerance);
    CHECK(worst_error(outcome.dx, exact.dx) < tolerance);
    for (std::size_t i = 0; i < exact.gradients.size(); ++i)
      CHECK(worst_error(outcome.gradients[i], exact.gradients[i], 10) < tolerance);
  }
}

TEST_CASE("what attention declares, and what it refuses") {
  const Layer layer{.width = 6, .heads = 2};
  const auto parameters = layer.parameters();
  CHECK(parameters[Layer::qkv].shape == Shape{6, 18});
  CHECK(parameters[Layer::qkv].split == Split::columns.in_sections(3));
  CHECK(parameters[Layer::qkv_bias].split == Split::rows.in_sections(3));
  CHECK(parameters[Layer::out].split == Split::rows);
  CHECK(parameters[Layer::out_bias].split == Split::none);
  CHECK_FALSE(parameters[Layer::qkv_bias].decay);
  CHECK_FALSE(parameters[Layer::out_bias].decay);
  CHECK_THROWS_WITH_AS(
      (Layer{.width = 6, .heads = 4}.parameters()),
      "CausalSelfAttention: 4 heads do not divide a width of 6; choose a width that is a multiple of "
      "the heads",
      ConfigError);
  LayerCase given = make_case(layer, 1, 3);
  given.shape = {1, 2, 9};
  CHECK_THROWS_AS(run_layer<float>(layer, given), ShapeError);
}

}  // namespace
}  // namespace triax::test
