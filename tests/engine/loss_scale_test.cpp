// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The loss scale: sequences of the field's faults, and the rules of other systems against their own
// algorithms.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/host.hpp>
#include <triax/engine/loss_scale.hpp>

using namespace triax;

namespace {

// One rank's state under a rule.
struct Scaler {
  LossScale options;
  StepState state{};
  Host host{};

  explicit Scaler(const LossScale& rule) : options(rule) { begin_loss_scale(host, options, &state); }

  float after(bool finite) {
    state.finite = finite ? 1 : 0;
    update_loss_scale(host, options, &state);
    return state.loss_scale;
  }
};

std::vector<float> history(const LossScale& rule, const std::string& steps) {
  Scaler scaler(rule);
  std::vector<float> scales;
  for (const char step : steps) scales.push_back(scaler.after(step == '+'));
  return scales;
}

}  // namespace

TEST_CASE("O-16 the growth interval counts good steps in a row") {
  const LossScale rule{.initial = 8, .interval = 3};
  CHECK(history(rule, "++-++++") == std::vector<float>{8, 8, 4, 4, 4, 8, 8});
}

TEST_CASE("O-15 the scale stops at its floor, and training after a limit of skips there") {
  Scaler scaler({.initial = 16, .skip_limit = 3});
  for (const float expected : {8.0F, 4.0F, 2.0F, 1.0F, 1.0F, 1.0F}) {
    CHECK(scaler.after(false) == expected);
    CHECK_NOTHROW(check_loss_scale(scaler.options, scaler.state));
  }
  CHECK(scaler.after(false) == 1);
  CHECK_THROWS_WITH_AS(
      check_loss_scale(scaler.options, scaler.state),
      "the loss scale is at its floor of 1.000000, and 3 steps in a row were skipped there because a "
      "gradient was not finite; lower the learning rate, look for a layer that overflows, or compute "
      "in bf16",
      Error);
  CHECK(scaler.state.applied == 0);
}

TEST_CASE("a good step forgives the skips at the floor; without a limit there is no error") {
  Scaler limited({.initial = 1, .skip_limit = 2});
  for (int i = 0; i < 10; ++i) {
    limited.after(false);
    CHECK_NOTHROW(check_loss_scale(limited.options, limited.state));
    limited.after(true);
  }
  Scaler unlimited({.initial = 1});
  for (int i = 0; i < 10; ++i) unlimited.after(false);
  CHECK_NOTHROW(check_loss_scale(unlimited.options, unlimited.state));
}

TEST_CASE("O-14 ranks that agree on the finite flag keep the same scale") {
  Scaler a({.initial = 65536}), b({.initial = 65536});
  for (const bool finite : {false, true, false}) {
    a.after(finite);
    b.after(finite);
  }
  CHECK(a.state.loss_scale == 16384);
  CHECK(b.state.loss_scale == 16384);
  CHECK(history({}, "-") == std::vector<float>{32768});
}

TEST_CASE("a skipped step changes nothing but the scale and its counters") {
  StepState before;
  before.tokens = 1;
  before.loss = 2;
  before.norm = 3;
  before.learning_rate = 4;
  before.applied = 5;
  before.skipped = 6;
  before.step = 7;
  before.loss_scale = 8;
  before.finite = 0;
  StepState after = before;
  Host host;
  update_loss_scale(host, LossScale{}, &after);
  CHECK(after.loss_scale == 4);
  CHECK(after.good_steps == 0);
  after.loss_scale = before.loss_scale;
  CHECK(after.tokens == 1);
  CHECK(after.loss == 2);
  CHECK(after.norm == 3);
  CHECK(after.learning_rate == 4);
  CHECK(after.applied == 5);
  CHECK(after.skipped == 6);
  CHECK(after.step == 7);
}

TEST_CASE("the scale begins anew with its options") {
  Scaler scaler({.initial = 1, .hysteresis = 2});
  for (const bool finite : {true, false, false, false}) scaler.after(finite);
  CHECK(scaler.state.skips_at_floor == 2);
  begin_loss_scale(scaler.host, {.initial = 4, .hysteresis = 3, .grace = 2}, &scaler.state);
  CHECK(scaler.state.loss_scale == 4);
  CHECK(scaler.state.hysteresis == 3);
  CHECK(scaler.state.good_steps == -2);
  CHECK(scaler.state.skips_at_floor == 0);
}

TEST_CASE("a fixed scale stays, and no scale becomes infinite") {
  CHECK(history(
            [] {
              LossScale rule = LossScale::fixed(1024);
              rule.interval = 1;
              return rule;
            }(),
            "+-+--") == std::vector<float>(5, 1024));
  const std::vector<float> high = history({.initial = 0x1p126F, .interval = 1}, "+++");
  CHECK(high == std::vector<float>(3, 0x1p127F));
  CHECK(history({.initial = 8, .ceiling = 16, .interval = 1}, "+++") == std::vector<float>{16, 16, 16});
}

namespace {

// Other systems' rules, written after the descriptions of their state.

struct GradScaler {  // PyTorch
  double scale = 8;
  int interval = 3, tracker = 0;

  double after(bool finite) {
    if (!finite) {
      scale *= 0.5;
      tracker = 0;
    } else if (++tracker == interval) {
      scale *= 2;
      tracker = 0;
    }
    return scale;
  }
};

struct DeepSpeedScaler {
  bool consecutive;
  double scale = 8;
  int window = 3, delayed_shift = 2, hysteresis = 2, iteration = 0, last_overflow = -1;
  bool raised = false;

  double after(bool finite) {
    if (!finite) {
      if (hysteresis == 1) {
        raised = raised || scale == 1;
        scale = std::max(scale / 2, 1.0);
      } else {
        --hysteresis;
      }
      last_overflow = iteration;
    } else {
      if (consecutive) hysteresis = delayed_shift;
      const int stable = iteration - last_overflow - 1;
      if (stable > 0 && stable % window == 0) {
        if (!consecutive) hysteresis = delayed_shift;
        scale *= 2;
      }
    }
    ++iteration;
    return scale;
  }
};

struct MegatronScaler {
  double scale = 8, most = 1e300;
  int interval = 3, tracker = 0, hysteresis = 2;

  double after(bool finite) {
    if (!finite) {
      tracker = 0;
      if (--hysteresis <= 0) scale = std::max(scale * 0.5, 1.0);
    } else if (++tracker == interval) {
      tracker = 0;
      hysteresis = 2;
      scale = std::min(scale * 2, most);
    }
    return scale;
  }
};

struct FairScaleScaler {
  double scale = 8, least = 0.3;
  int window = 3, iteration = 0, last_overflow = -1;
  bool raised = false;

  double after(bool finite) {
    if (!finite) {
      last_overflow = iteration;
      const double before = scale;
      scale /= 2;
      if (scale <= least) {
        scale = before;
        raised = true;
      }
    } else if ((iteration - last_overflow) % window == 0) {
      scale *= 2;
    }
    ++iteration;
    return scale;
  }
};

// Compares over random steps; `step` gives the next good or bad one.
template <class Reference>
void compare(const LossScale& rule, const Reference& start) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Reference reference = start;
    Scaler scaler(rule);
    const unsigned bad_percent = 5 + seed * 3;
    for (int step = 0; step < 200; ++step) {
      const bool finite = random() % 100 >= bad_percent;
      const double expected = reference.after(finite);
      REQUIRE(static_cast<double>(scaler.after(finite)) == expected);
      if constexpr (requires { reference.raised; }) {
        const bool reached = rule.skip_limit > 0 && scaler.state.skips_at_floor >= rule.skip_limit;
        REQUIRE(reached == reference.raised);
        if (reached) break;
      }
    }
  }
}

}  // namespace

TEST_CASE("options reproduce PyTorch's rule") {
  compare({.initial = 8, .floor = 0, .interval = 3}, GradScaler{});
}

TEST_CASE("options reproduce DeepSpeed's rules") {
  LossScale rule{.initial = 8, .interval = 3, .hysteresis = 2, .grace = 1, .skip_limit = 1};
  compare(rule, DeepSpeedScaler{.consecutive = false});
  rule.refill = LossScale::Refill::on_good_step;
  compare(rule, DeepSpeedScaler{.consecutive = true});
}

TEST_CASE("options reproduce the rules of Megatron-LM and Colossal-AI") {
  compare({.initial = 8, .interval = 3, .hysteresis = 2}, MegatronScaler{});
  compare({.initial = 8, .ceiling = 32, .interval = 3, .hysteresis = 2}, MegatronScaler{.most = 32});
}

TEST_CASE("options reproduce FairScale's rule without tolerance") {
  compare({.initial = 8, .floor = 0.5F, .interval = 3, .skip_limit = 1}, FairScaleScaler{});
}
