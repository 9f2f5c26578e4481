// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Learning-rate schedules and clipping.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/host.hpp>
#include <triax/optim/clip.hpp>
#include <triax/optim/learning_rate.hpp>

using namespace triax;

static_assert(std::is_trivially_copyable_v<LearningRate>);
static_assert(LearningRateSchedule<LearningRate> && !LearningRateSchedule<float>);

TEST_CASE("a number is a constant learning rate") {
  const LearningRate rate = 3e-4F;
  for (const std::int64_t applied : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40})
    CHECK(rate(applied) == 3e-4F);
}

TEST_CASE("warm-up rises from the first update to the peak") {
  const LearningRate rate = LearningRate(8).warm_up(4);
  const std::vector<float> expected{2, 4, 6, 8, 8, 8};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(rate(static_cast<std::int64_t>(i)) == expected[i]);
}

TEST_CASE("linear decay reaches its minimum at the end and stays") {
  const LearningRate rate = LearningRate(10).warm_up(2).linear(10, 2);
  const std::vector<float> expected{5, 10, 10, 9, 8, 7, 6, 5, 4, 3, 2, 2, 2};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(rate(static_cast<std::int64_t>(i)) == expected[i]);
}

TEST_CASE("cosine decay follows half a cosine") {
  const LearningRate rate = LearningRate(1).cosine(100, 0.1);
  CHECK(rate(0) == 1);
  CHECK(rate(50) == doctest::Approx(0.55).epsilon(1e-6));
  CHECK(rate(25) == doctest::Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))).epsilon(1e-6));
  CHECK(rate(75) == doctest::Approx(0.1 + 0.45 * (1 - std::sqrt(0.5))).epsilon(1e-6));
  CHECK(rate(100) == 0.1F);
  CHECK(rate(1000) == 0.1F);
  const LearningRate warmed = LearningRate(1).warm_up(20).cosine(100, 0.1);
  CHECK(warmed(19) == 1);
  CHECK(warmed(20) == 1);
  CHECK(warmed(60) == doctest::Approx(0.55).epsilon(1e-6));
}

TEST_CASE("a decay that ends within the warm-up leaves the minimum") {
  const LearningRate rate = LearningRate(1).warm_up(4).cosine(4, 0.5);
  CHECK(rate(3) == 1);
  CHECK(rate(4) == 0.5F);
}

TEST_CASE("the learning rate is a function of applied updates in the step's state") {
  struct Stairs {
    float operator()(std::int64_t applied) const { return applied < 2 ? 1.0F : 0.5F; }
  };
  Host host;
  StepState state;
  state.step = 7;
  state.skipped = 5;
  state.applied = 1;
  set_learning_rate(host, Stairs{}, &state);
  CHECK(state.learning_rate == 1);
  state.applied = 2;
  set_learning_rate(host, Stairs{}, &state);
  CHECK(state.learning_rate == 0.5F);
}

TEST_CASE("a gradient within the limit keeps its bits, one beyond is scaled to it") {
  Host host;
  StepState state;
  state.clip = 0.25F;  // of the step before
  for (const double norm : {0.0, 0.5, 2.0}) {
    state.norm = norm;
    clip_norm(host, 2, &state);
    CHECK(state.clip == 1);
  }
  state.norm = 8;
  clip_norm(host, 2, &state);
  CHECK(state.clip == 0.25F);
}

TEST_CASE("values are limited as true gradients") {
  Host host;
  StepState state;
  state.loss_scale = 4;
  std::vector<float> gradient{-100, -8, -7, 0, 7, 8, 9, 1e30F, 3, -9, 5};
  clip_values(host, gradient.data(), 11, 2, &state);
  CHECK(gradient == std::vector<float>{-8, -8, -7, 0, 7, 8, 8, 8, 3, -8, 5});

  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> skipped{infinity, 100};
  state.finite = 0;
  clip_values(host, skipped.data(), 2, 2, &state);
  CHECK(skipped == std::vector<float>{infinity, 100});
}
