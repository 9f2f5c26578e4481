// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Gradient descent against its formulas in double precision, and the faults of the field that concern it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/optim/clip.hpp>
#include <triax/optim/sgd.hpp>

#include "optim/trained_parameter.hpp"
#include "support/numbers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

std::vector<float> floats(const std::vector<double>& values) { return rounded_to<float>(values); }

// The rule of torch.optim.SGD, whose buffer is the first gradient after the first step.
struct PlainSgd {
  double momentum, decay;
  bool nesterov;
  std::vector<double> w, buffer{};

  void step(const std::vector<double>& gradient, double rate) {
    const bool first = buffer.empty();
    buffer.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = gradient[i] + decay * w[i];
      if (momentum != 0) {
        buffer[i] = first ? g : momentum * buffer[i] + g;
        g = nesterov ? g + momentum * buffer[i] : buffer[i];
      }
      w[i] -= rate * g;
    }
  }
};

}  // namespace

TEST_CASE("Sgd follows its formulas on ragged sizes") {
  for (const Sgd& optimizer :
       {Sgd{}, Sgd{.momentum = 0.9}, Sgd{.momentum = 0.9, .nesterov = true}, Sgd{.weight_decay = 0.1},
        Sgd{.momentum = 0.5, .nesterov = true, .weight_decay = 0.2}})
    for (const bool decays : {true, false})
      for (const int size : {1, 7, 8, 16, 33, 100}) {
        const auto initial = random_values(size, 1);
        PlainSgd plain{optimizer.momentum, decays ? optimizer.weight_decay : 0, optimizer.nesterov, initial};
        TrainedParameter parameter(floats(initial));
        parameter.decay = decays;
        for (std::uint64_t step = 0; step < 10; ++step) {
          const auto gradient = random_values(size, 100 + step, -3, 2);
          parameter.update(optimizer, floats(gradient), at_rate(0.05F));
          plain.step(gradient, static_cast<double>(0.05F));
        }
        CHECK(worst_error(to_doubles(parameter.weights), plain.w) < 2e-6);
      }
}

TEST_CASE("Sgd is exact where its numbers are") {
  // Whole numbers and powers of two: b = 4, then 0.5 * 4 + 4 = 6; w = 32 - 4 - 6.
  TrainedParameter heavy(std::vector<float>(11, 32)), nesterov(std::vector<float>(11, 32));
  const std::vector<float> gradient(11, 4);
  for (int step = 0; step < 2; ++step) {
    heavy.update(Sgd{.momentum = 0.5}, gradient, at_rate(1));
    nesterov.update(Sgd{.momentum = 0.5, .nesterov = true}, gradient, at_rate(1));
  }
  CHECK(heavy.weights == std::vector<float>(11, 22));
  CHECK(nesterov.weights == std::vector<float>(11, 32 - (4 + 2) - (4 + 3)));
  CHECK(Sgd{}.states() == 0);
  CHECK(Sgd{.momentum = 0.5}.states() == 1);
}

TEST_CASE("Sgd without momentum needs no state") {
  TrainedParameter parameter({1, 2, 3});
  Host host;
  const StepState state = at_rate(1);
  parameter.step_count = 1;
  const std::vector<float> gradient{1, 1, 1};
  UpdateRange range = parameter.range(gradient, 0, 3);
  range.state = {};
  Sgd{}.update(host, range, &state);
  CHECK(parameter.weights == std::vector<float>{0, 1, 2});
  parameter.update(Sgd{}, gradient, state);
  CHECK(parameter.weights == std::vector<float>{-1, 0, 1});
  CHECK(parameter.states[0] == std::vector<float>(3, 0));
}

TEST_CASE("Sgd gives the same bits however a parameter is cut") {
  const Sgd optimizer{.momentum = 0.9, .nesterov = true, .weight_decay = 0.1};
  const auto gradient = floats(random_values(50, 5));
  TrainedParameter whole(floats(random_values(50, 4)));
  const TrainedParameter start = whole;
  whole.update(optimizer, gradient, at_rate(0.1F));
  for (const std::size_t cut : {std::size_t{1}, std::size_t{19}, std::size_t{48}}) {
    TrainedParameter parts = start;
    parts.step_count = 1;
    Host host;
    const StepState state = at_rate(0.1F);
    optimizer.update(host, parts.range(gradient, 0, cut), &state);
    optimizer.update(host, parts.range(gradient, cut, 50 - cut), &state);
    CHECK(same_bits(parts.weights, whole.weights));
    CHECK(same_bits(parts.states[0], whole.states[0]));
  }
}

TEST_CASE("a skipped step, or a parameter without a gradient, keeps every bit under Sgd") {
  const Sgd optimizer{.momentum = 0.9, .weight_decay = 0.1};
  TrainedParameter parameter({1, 2, 3});
  parameter.update(optimizer, {1, 1, 1}, at_rate(0.1F));
  const TrainedParameter before = parameter;
  StepState skipped = at_rate(0.1F);
  skipped.finite = 0;
  parameter.update(optimizer, {1, INFINITY, 1}, skipped);
  parameter.step_count = -1;
  Host host;
  const StepState state = at_rate(0.1F);
  const std::vector<float> gradient{1, 1, 1};
  optimizer.update(host, parameter.range(gradient, 0, 3), &state);
  CHECK(same_bits(parameter.weights, before.weights));
  CHECK(same_bits(parameter.states[0], before.states[0]));
}

TEST_CASE("O-05 decay acts on what is trained, after the norm") {
  TrainedParameter parameter({1, 1});
  parameter.update(Sgd{.weight_decay = 0.1}, {1, 1}, at_rate(0.1F));
  CHECK(parameter.weights[0] == doctest::Approx(0.89).epsilon(1e-6));
  CHECK(parameter.weights[1] == parameter.weights[0]);
}

TEST_CASE("O-11 the norm is clipped after the loss scale is undone") {
  Host host;
  for (const float scale : {1024.0F, 1.0F})
    for (const double limit : {1.0, 10.0}) {
      StepState state = at_rate(1);
      state.loss_scale = scale;
      state.norm = 5;  // of the true gradient
      clip_norm(host, limit, &state);
      TrainedParameter parameter({0, 0});
      parameter.update(Sgd{}, {3 * scale, 4 * scale}, state);
      if (limit == 10) CHECK(parameter.weights == std::vector<float>{-3, -4});
      CHECK(parameter.weights[0] == doctest::Approx(-3 * std::min(1.0, limit / 5)).epsilon(1e-6));
      CHECK(parameter.weights[1] == doctest::Approx(-4 * std::min(1.0, limit / 5)).epsilon(1e-6));
    }
}

TEST_CASE("O-17 a skipped step does not move the learning rate") {
  Host host;
  const LearningRate rising = LearningRate(1).warm_up(10);  // 0.1 k for the k-th applied update
  TrainedParameter parameter({0});
  StepState state;
  std::vector<double> used;
  for (const std::int32_t finite : {0, 0, 1, 1, 1}) {
    state.finite = finite;
    set_learning_rate(host, rising, &state);
    parameter.update(Sgd{}, {1}, state);
    if (finite) used.push_back(static_cast<double>(state.learning_rate));
    ++(finite ? state.applied : state.skipped);
  }
  CHECK(worst_error(used, {0.1, 0.2, 0.3}) < 1e-7);
  CHECK(parameter.weights[0] == doctest::Approx(-0.6).epsilon(1e-6));
  CHECK(state.applied == 3);
  CHECK(state.skipped == 2);
}
