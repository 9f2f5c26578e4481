// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The linear layer and the layers of activation functions.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/activation.hpp>
#include <triax/nn/check_gradients.hpp>
#include <triax/nn/linear.hpp>

#include "support/layer_harness.hpp"
#include "support/products.hpp"

namespace triax::test {
namespace {

static_assert(SplitLayer<Linear> && SplitLayer<UnbiasedLinear> && SplitLayer<Gelu> && SplitLayer<Relu>);

BatchData unused_batch(std::int64_t sequences, std::int64_t tokens) {
  const std::vector<std::int32_t> none(static_cast<std::size_t>(sequences * tokens));
  return {.shape = {sequences, tokens}, .inputs = none, .targets = none};
}

TEST_CASE_TEMPLATE("a linear layer is exact on whole numbers", T, float, fp16) {
  const ProductSizes s{3, 5, 4};
  LayerCase given{.shape = {1, s.m, s.k}, .x = whole_numbers(s.m * s.k, 1, 2), .batch = unused_batch(1, s.m)};
  given.parameters = {whole_numbers(s.k * s.n, 2, 2), whole_numbers(s.n, 3, 2)};
  given.dy = whole_numbers(s.m * s.n, 4, 2);
  given.gradient = 3;
  const LayerOutcome outcome = run_layer<T>(Linear{.in = s.k, .out = s.n}, given);

  std::vector<double> y, bias_gradient(static_cast<std::size_t>(s.n), 3);
  for (std::size_t i = 0; i < given.dy.size(); ++i) {
    y.push_back(given.parameters[1][i % bias_gradient.size()]);
    bias_gradient[i % bias_gradient.size()] += given.dy[i];
  }
  CHECK(outcome.shape == Shape{1, s.m, s.n});
  CHECK(outcome.y == product(s, given.x, false, given.parameters[0], false, y));
  CHECK(outcome.dx == product({s.m, s.k, s.n}, given.dy, false, given.parameters[0], true,
                              std::vector<double>(given.x.size())));
  CHECK(outcome.gradients[0] == product({s.k, s.n, s.m}, given.x, true, given.dy, false,
                                        std::vector<double>(given.parameters[0].size(), 3)));
  CHECK(outcome.gradients[1] == bias_gradient);
}

TEST_CASE("gradients agree with differences") {
  for (const std::int64_t tokens : {1, 3}) {
    CHECK(check_gradients(Linear{.in = 3, .out = 5}, {2, tokens, 3}).ok());
    CHECK(check_gradients(UnbiasedLinear{.in = 3, .out = 5}, {2, tokens, 3}).ok());
    CHECK(check_gradients(Gelu{}, {2, tokens, 17}).ok());
    CHECK(check_gradients(Relu{}, {2, tokens, 17}).ok());
  }
}

TEST_CASE("what a linear layer declares") {
  const auto parameters = Linear{.in = 3, .out = 5}.parameters();
  CHECK(parameters[0].shape == Shape{3, 5});
  CHECK(parameters[0].decay);
  CHECK(parameters[1].shape == Shape{5});
  CHECK(parameters[1].init == Initialiser::zeros());
  CHECK_FALSE(parameters[1].decay);
  CHECK(UnbiasedLinear{.in = 3, .out = 5}.parameters().size() == 1);
}

TEST_CASE("a stream of another width is refused") {
  LayerCase given{.shape = {1, 2, 4}, .x = random_values(8, 1), .batch = unused_batch(1, 2)};
  given.parameters = {random_values(15, 2), random_values(5, 3)};
  CHECK_THROWS_WITH_AS(
      run_layer<float>(Linear{.in = 3, .out = 5}, given),
      "Linear takes a stream of shape [sequences, tokens, 3], but one of shape [1, 2, 4] reached "
      "it; make the widths of the layers agree",
      ShapeError);
}

}  // namespace
}  // namespace triax::test
