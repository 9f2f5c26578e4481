// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/cross_entropy.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

using test::tensor;
using Numbers = std::vector<double>;

template <class T>
struct Problem {
  std::int64_t classes;
  std::vector<std::int32_t> targets;
  std::vector<float> weights{};
  Numbers logits = test::random_values<T>(static_cast<std::int64_t>(targets.size()) * classes, 1, -4, 4);
  std::int32_t ignore = -1;
  float seed = 0.5F;

  LossSum loss{-1, -1};
  std::vector<T> gradient = std::vector<T>(logits.size(), test::from_double<T>(99));

  void run() {
    Host host;
    const auto rows = static_cast<std::int64_t>(targets.size());
    std::vector<T> x = test::rounded_to<T>(logits);
    std::vector<accumulator_t<T>> maximum(targets.size());
    std::vector<accumulator_t<T>> normaliser(targets.size());
    const Targets<Host> given{
        {targets.data(), {1, rows}},
        weights.empty() ? Tensor<const float, Host>{} : Tensor<const float, Host>{weights.data(), {1, rows}},
        ignore};
    cross_entropy(host, tensor(x, {1, rows, classes}), given, Tensor<LossSum, Host>(&loss, {1}),
                  tensor(maximum), tensor(normaliser));
    cross_entropy_gradient(host, tensor(x, {1, rows, classes}), given, tensor(maximum), tensor(normaliser),
                           &seed, tensor(gradient, {1, rows, classes}));
  }

  void check() {
    run();
    LossSum wanted;
    Numbers wanted_gradient(logits.size());
    for (std::size_t row = 0; row < targets.size(); ++row) {
      const double weight = targets[row] == ignore ? 0
                            : weights.empty()      ? 1
                                                   : static_cast<double>(weights[row]);
      if (weight == 0) continue;
      const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row) * classes;
      const double largest = *std::max_element(begin, begin + classes);
      double sum = 0;
      for (auto logit = begin; logit != begin + classes; ++logit) sum += std::exp(*logit - largest);
      wanted.sum += weight * (std::log(sum) + largest - begin[targets[row]]);
      wanted.weight += weight;
      for (std::int64_t i = 0; i < classes; ++i)
        wanted_gradient[row * static_cast<std::size_t>(classes) + static_cast<std::size_t>(i)] =
            weight * static_cast<double>(seed) *
            (std::exp(begin[i] - largest) / sum - (i == targets[row] ? 1 : 0));
    }
    CHECK(std::abs(loss.sum - wanted.sum) <=
          16 * test::unit_roundoff<accumulator_t<T>>() * (wanted.sum + 10));
    CHECK(loss.weight == wanted.weight);
    CHECK(test::worst_error(test::to_doubles(gradient), wanted_gradient) < test::tolerance<T>());
  }
};

TEST_CASE_TEMPLATE("cross-entropy and its gradient agree with the definition", T, float, double, bf16, fp16) {
  for (const std::int32_t classes : {1, 2, 7, 8, 33, 257}) {
    CAPTURE(classes);
    const std::int32_t last = classes - 1;
    Problem<T>{.classes = classes, .targets = {0, last, last / 2}}.check();
    Problem<T>{.classes = classes, .targets = {last, 0, -1, last}, .weights = {2, 0.25F, 3, 0}}.check();
  }
}

TEST_CASE("another target can be the one that is ignored") {
  Problem<float> problem{.classes = 5, .targets = {0, 3, 0, 1}, .weights = {1, 2, 3, 4}, .ignore = 0};
  problem.check();
  CHECK(problem.loss.weight == 6);
}

TEST_CASE_TEMPLATE("O-56: a batch of ignored tokens has loss 0, weight 0 and zeros for a gradient", T, float,
                   bf16) {
  Problem<T> problem{.classes = 3, .targets = {-1, -1, 2}, .weights = {1, 1, 0}};
  problem.run();
  CHECK(problem.loss.sum == 0);
  CHECK(problem.loss.weight == 0);
  CHECK(test::to_doubles(problem.gradient) == Numbers(9, 0));
}

TEST_CASE("what does not count is not read: neither its logits nor its target") {
  Problem<float> problem{.classes = 2, .targets = {-1, 500, 1}, .weights = {1, 0, 1}};
  problem.logits = {NAN, NAN, INFINITY, 0, 0, 0};
  problem.check();
  CHECK(problem.loss.sum == doctest::Approx(std::log(2)));
}

TEST_CASE("huge logits neither overflow nor lose the small differences") {
  Problem<float> problem{.classes = 3, .targets = {0, 2, 1}};
  problem.logits = {20000, 19999, -20000, 1e30, 0, -1e30, -3e4, -3e4, -3e4};
  problem.run();
  CHECK(problem.loss.sum == doctest::Approx(std::log1p(std::exp(-1)) + 2e30 + std::log(3)));
  CHECK(static_cast<double>(problem.gradient[1]) == doctest::Approx(0.5 / (1 + std::exp(1))));
  CHECK(static_cast<double>(problem.gradient[0]) == doctest::Approx(-0.5 / (1 + std::exp(1))));
}

TEST_CASE("a class of logit -infinity is impossible") {
  Problem<float> problem{.classes = 3, .targets = {0}};
  problem.logits = {0, -INFINITY, 0};
  problem.run();
  CHECK(problem.loss.sum == doctest::Approx(std::log(2)));
  CHECK(problem.gradient[1] == 0);
}

TEST_CASE_TEMPLATE("a logit that is not finite shows in loss and gradient", T, float, fp16) {
  for (const double value : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    for (std::size_t place = 0; place < 20; ++place) {
      Problem<T> problem{.classes = 20, .targets = {3}};
      problem.logits[place] = value;
      problem.run();
      CHECK(std::isnan(problem.loss.sum));
      CHECK(std::isnan(test::to_double(problem.gradient[place])));
    }
  }
}

TEST_CASE("a target that names no class is an error that names both") {
  Problem<float> above{.classes = 5, .targets = {0, 5}};
  CHECK_THROWS_WITH_AS(
      above.run(),
      "the target of token 1 of the micro-batch is 5, but the vocabulary has 5 tokens, numbered from 0; "
      "give the model a larger vocabulary or mend the data",
      ShapeError);
  Problem<float> below{.classes = 5, .targets = {-2}};
  CHECK_THROWS_AS(below.run(), ShapeError);
  Problem<float> ignored_elsewhere{.classes = 5, .targets = {-1}, .ignore = -100};
  CHECK_THROWS_AS(ignored_elsewhere.run(), ShapeError);
}

}  // namespace
}  // namespace triax
