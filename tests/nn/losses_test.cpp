// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// CrossEntropy, MeanSquaredError and InputValues.

#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/cross_entropy.hpp>
#include <triax/nn/input_values.hpp>
#include <triax/nn/mean_squared_error.hpp>

#include "support/layer_harness.hpp"

namespace triax::test {
namespace {

static_assert(LossLayer<CrossEntropy> && LossLayer<MeanSquaredError> && InputLayer<InputValues>);

template <class L>
concept Counts =
    requires(const L& loss, ProbeCtx& ctx, tensor_t<ProbeCtx, double> sum) { loss.count(ctx, sum); };
static_assert(Counts<CrossEntropy>, "it ignores tokens beyond those of weight 0");
static_assert(!Counts<MeanSquaredError>);

TEST_CASE_TEMPLATE("CrossEntropy is a weighted sum over tokens, its gradient starts from the seed", T, float,
                   bf16) {
  LayerCase given{
      .shape = {2, 2, 3},
      .x = random_values<T>(12, 1, -3, 3),
      .batch = {.shape = {2, 2}, .inputs = {0, 0, 0, 0}, .targets = {2, -1, 0, 1}, .weights = {1, 1, 0, 2}},
      .seed = 4};
  const LayerOutcome found = run_layer<T>(CrossEntropy{}, given);
  double loss = 0;
  std::vector<double> gradient(12);
  for (const std::size_t token : {std::size_t{0}, std::size_t{3}}) {
    const double weight = static_cast<double>(given.batch.weights[token]);
    const auto target = static_cast<std::size_t>(given.batch.targets[token]);
    const double* logits = given.x.data() + 3 * token;
    const double sum = std::exp(logits[0]) + std::exp(logits[1]) + std::exp(logits[2]);
    loss += weight * (std::log(sum) - logits[target]);
    for (std::size_t i = 0; i < 3; ++i)
      gradient[3 * token + i] = 4 * weight * (std::exp(logits[i]) / sum - (i == target ? 1 : 0));
  }
  CHECK(found.loss.sum == doctest::Approx(loss));
  CHECK(found.loss.weight == 3);
  CHECK(worst_error(found.dx, gradient) < tolerance<T>());
}

TEST_CASE("CrossEntropy counts what its forward weighs") {
  const BatchData data{.shape = {2, 3},
                       .inputs = std::vector<std::int32_t>(6),
                       .targets = {0, -1, 2, 1, -1, 0},
                       .weights = {1, 2, 0, 0.5F, 0, 3}};
  Host host;
  SelfCommunicator communicator;
  const Batch<Host> batch = data.view();
  LayerRunner<CrossEntropy, float, Host, SelfCommunicator> runner(CrossEntropy{}, host, communicator, batch,
                                                                  {4096, 4096, 4096});
  std::vector<float> logits(18, 0.0F);
  const auto loss = runner.forward({logits.data(), {2, 3, 3}});
  double sum = 0;
  Ctx<float, Host, SelfCommunicator> ctx(runner.frame(), nullptr, Phase::forward, 0);
  CrossEntropy{}.count(ctx, Tensor<double, Host>(&sum, {1}));
  CHECK(sum == 4.5);
  CHECK(loss[0].weight == sum);
}

TEST_CASE("O-21: the sums of micro-batches of different size add up to the sum of the whole") {
  // One token of loss a, three of losses b, c, d: a mean of means would weigh a three times.
  LayerCase whole{.shape = {1, 4, 3},
                  .x = random_values(12, 1),
                  .batch = {.shape = {1, 4}, .inputs = {0, 0, 0, 0}, .targets = {0, 1, 2, 0}},
                  .seed = 0.25F};
  LayerCase first = whole;
  LayerCase rest = whole;
  first.shape = {1, 1, 3};
  first.x.resize(3);
  first.batch = {.shape = {1, 1}, .inputs = {0}, .targets = {0}};
  rest.shape = {1, 3, 3};
  rest.x.erase(rest.x.begin(), rest.x.begin() + 3);
  rest.batch = {.shape = {1, 3}, .inputs = {0, 0, 0}, .targets = {1, 2, 0}};
  const LayerOutcome all = run_layer<float>(CrossEntropy{}, whole);
  const LayerOutcome one = run_layer<float>(CrossEntropy{}, first);
  const LayerOutcome three = run_layer<float>(CrossEntropy{}, rest);
  CHECK(one.loss.sum + three.loss.sum == doctest::Approx(all.loss.sum).epsilon(1e-14));
  CHECK(one.loss.weight + three.loss.weight == all.loss.weight);
  std::vector<double> joined = one.dx;
  joined.insert(joined.end(), three.dx.begin(), three.dx.end());
  CHECK(same_bits(joined, all.dx));
}

TEST_CASE("O-56: a micro-batch of ignored labels gives zeros and no NaN") {
  const LayerCase given{.shape = {1, 2, 3},
                        .x = {NAN, 1, 2, 3, INFINITY, 5},
                        .batch = {.shape = {1, 2}, .inputs = {0, 0}, .targets = {-1, -1}}};
  const LayerOutcome found = run_layer<float>(CrossEntropy{}, given);
  CHECK(found.loss.sum == 0);
  CHECK(found.loss.weight == 0);
  CHECK(found.dx == std::vector<double>(6, 0));
}

TEST_CASE("CrossEntropy needs target tokens that are classes") {
  LayerCase given{.shape = {1, 2, 3},
                  .x = random_values(6, 1),
                  .batch = {.shape = {1, 2}, .inputs = {0, 0}, .targets = {0, 3}}};
  CHECK_THROWS_AS(run_layer<float>(CrossEntropy{}, given), ShapeError);
  given.batch = {.shape = {1, 2, 1, 1}, .input_values = {1, 2}, .target_values = {1, 2}};
  CHECK_THROWS_WITH_AS(
      run_layer<float>(CrossEntropy{}, given),
      "CrossEntropy needs target tokens, but this batch has none; make it with token targets", ShapeError);
}

TEST_CASE_TEMPLATE("MeanSquaredError is a mean over features and a sum over tokens", T, float, bf16) {
  const LayerCase given{.shape = {1, 2, 2},
                        .x = {1, 2, 3, 4},
                        .batch = {.shape = {1, 2, 1, 2},
                                  .input_values = {0, 0},
                                  .target_values = {0, 4, 3, 0},
                                  .weights = {1, 3}},
                        .seed = 2};
  const LayerOutcome found = run_layer<T>(MeanSquaredError{}, given);
  CHECK(found.loss.sum == (1 + 4) / 2.0 + 3 * (0 + 16) / 2.0);
  CHECK(found.loss.weight == 4);
  CHECK(found.dx == std::vector<double>{2, -4, 0, 24});
}

TEST_CASE("MeanSquaredError needs target values of the stream's shape") {
  const LayerCase given{
      .shape = {1, 2, 3},
      .x = random_values(6, 1),
      .batch = {.shape = {1, 2, 1, 2}, .input_values = {0, 0}, .target_values = {0, 4, 3, 0}}};
  CHECK_THROWS_WITH_AS(
      run_layer<float>(MeanSquaredError{}, given),
      "MeanSquaredError needs target values of the stream's shape [1, 2, 3], but the batch's have shape "
      "[1, 2, 2]",
      ShapeError);
}

TEST_CASE_TEMPLATE("InputValues rounds the batch's values to the compute type", T, float, fp16) {
  const BatchData data{.shape = {1, 3, 2, 1},
                       .input_values = {1, -2.5F, 1.0009765625F, 1e-8F, 3.14159274F, 70000},
                       .target_values = {0, 0, 0}};
  const LayerCase given{.dy = std::vector<double>(6), .batch = data};
  std::vector<double> wanted;
  for (const float value : data.input_values)
    wanted.push_back(to_double(from_double<T>(static_cast<double>(value))));
  const LayerOutcome found = run_layer<T>(InputValues{2}, given);
  CHECK(found.shape == Shape{1, 3, 2});
  CHECK(found.y == wanted);
  CHECK_THROWS_AS(run_layer<T>(InputValues{3}, given), ShapeError);
}

}  // namespace
}  // namespace triax::test
