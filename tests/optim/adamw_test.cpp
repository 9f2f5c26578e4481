// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// AdamW against its formulas in double precision, and the faults of the field that concern it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/optim/adamw.hpp>

#include "optim/trained_parameter.hpp"
#include "support/numbers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

// The published algorithm, element by element.
struct PlainAdamW {
  double beta1, beta2, epsilon, decay;
  std::vector<double> w, m, v;
  int t = 0;

  void step(const std::vector<double>& gradient, double rate) {
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = gradient[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      const double mean = m[i] / (1 - std::pow(beta1, t)), square = v[i] / (1 - std::pow(beta2, t));
      w[i] = w[i] - rate * decay * w[i] - rate * mean / (std::sqrt(square) + epsilon);
    }
  }
};

std::vector<float> floats(const std::vector<double>& values) { return rounded_to<float>(values); }

}  // namespace

TEST_CASE("AdamW follows its formulas on ragged sizes") {
  for (const AdamW& optimizer :
       {AdamW{}, AdamW{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.5}})
    for (const bool decays : {true, false})
      for (const int size : {1, 7, 8, 15, 16, 33, 100}) {
        const auto initial = random_values(size, 1);
        PlainAdamW plain{optimizer.beta1,
                         optimizer.beta2,
                         optimizer.epsilon,
                         decays ? optimizer.weight_decay : 0,
                         initial,
                         std::vector<double>(initial.size()),
                         std::vector<double>(initial.size())};
        TrainedParameter parameter(floats(initial));
        parameter.decay = decays;
        for (std::uint64_t step = 0; step < 12; ++step) {
          const auto gradient = random_values(size, 100 + step, -3, 2);
          const float rate = 0.01F * static_cast<float>(step + 1);
          parameter.update(optimizer, floats(gradient), at_rate(rate));
          plain.step(gradient, static_cast<double>(rate));
        }
        CHECK(worst_error(to_doubles(parameter.weights), plain.w) < 2e-6);
        CHECK(worst_error(to_doubles(parameter.states[0]), plain.m) < 1e-6);
        CHECK(worst_error(to_doubles(parameter.states[1]), plain.v) < 1e-6);
      }
}

TEST_CASE("AdamW's defaults are those of its paper") {
  constexpr AdamW optimizer{.lr = 3e-4F};
  static_assert(optimizer.beta1 == 0.9 && optimizer.beta2 == 0.999 && optimizer.epsilon == 1e-8);
  static_assert(optimizer.weight_decay == 0.01 && AdamW::elementwise && optimizer.states() == 2);
  CHECK(optimizer.learning_rate()(0) == 3e-4F);
}

TEST_CASE("AdamW gives the same bits however a parameter is cut") {
  const std::size_t size = 77;
  const auto gradient = floats(random_values(77, 5));
  TrainedParameter whole(floats(random_values(77, 4)));
  const TrainedParameter start = whole;
  whole.update(AdamW{}, gradient, at_rate(0.1F));
  whole.update(AdamW{}, gradient, at_rate(0.1F));
  for (const std::size_t cut :
       {std::size_t{1}, std::size_t{3}, std::size_t{16}, std::size_t{37}, std::size_t{76}}) {
    TrainedParameter parts = start;
    Host host;
    const StepState state = at_rate(0.1F);
    for (parts.step_count = 1; parts.step_count <= 2; ++parts.step_count) {
      AdamW{}.update(host, parts.range(gradient, 0, cut), &state);
      AdamW{}.update(host, parts.range(gradient, cut, size - cut), &state);
    }
    CHECK(same_bits(parts.weights, whole.weights));
    CHECK(same_bits(parts.states[0], whole.states[0]));
    CHECK(same_bits(parts.states[1], whole.states[1]));
  }
}

TEST_CASE("AdamW takes loss scale and clipping out of the gradient") {
  const auto gradient = random_values(20, 6);
  const auto initial = floats(random_values(20, 7));
  std::vector<double> scaled = gradient;
  for (double& g : scaled) g *= 65536;
  StepState state = at_rate(0.01F);
  state.loss_scale = 65536 * 4;
  state.clip = 0.5F;
  TrainedParameter a(initial), b(initial);
  a.update(AdamW{}, floats(scaled), state);
  std::vector<double> expected = gradient;
  for (double& g : expected) g *= 0.125;
  b.update(AdamW{}, floats(expected), at_rate(0.01F));
  CHECK(same_bits(a.weights, b.weights));
  CHECK(same_bits(a.states[1], b.states[1]));
}

TEST_CASE("a skipped step, or a parameter without a gradient, keeps every bit under AdamW") {
  const auto gradient = floats(random_values(20, 8));
  TrainedParameter parameter(floats(random_values(20, 9)));
  parameter.update(AdamW{}, gradient, at_rate(0.1F));
  const TrainedParameter before = parameter;

  StepState skipped = at_rate(0.1F);
  skipped.finite = 0;
  parameter.update(AdamW{}, std::vector<float>(20, NAN), skipped);
  for (const std::int32_t count : {0, -1}) {
    parameter.step_count = count;
    Host host;
    const StepState state = at_rate(0.1F);
    AdamW{}.update(host, parameter.range(gradient, 0, 20), &state);
  }
  CHECK(same_bits(parameter.weights, before.weights));
  CHECK(same_bits(parameter.states[0], before.states[0]));
  CHECK(same_bits(parameter.states[1], before.states[1]));
}

TEST_CASE("O-07 step count is per parameter, not per optimizer") {
  const AdamW optimizer{.lr = 0.01, .weight_decay = 0};
  TrainedParameter a({1}), b({1});
  a.update(optimizer, {0.5F}, at_rate(0.01F));  // b has no gradient in the first step
  a.update(optimizer, {0.5F}, at_rate(0.01F));
  b.update(optimizer, {0.5F}, at_rate(0.01F));
  CHECK(a.weights[0] == doctest::Approx(0.98).epsilon(1e-6));
  CHECK(b.weights[0] == doctest::Approx(0.99).epsilon(1e-6));
}

TEST_CASE("O-17 a skipped step does not move Adam's t") {
  const AdamW optimizer{.lr = 0.1, .weight_decay = 0};
  TrainedParameter parameter({1});
  StepState state = at_rate(0.1F);
  state.finite = 0;
  parameter.update(optimizer, {INFINITY}, state);
  state.finite = 1;
  parameter.update(optimizer, {1}, state);
  CHECK(parameter.step_count == 1);
  CHECK(parameter.weights[0] == doctest::Approx(0.9).epsilon(1e-6));
}
