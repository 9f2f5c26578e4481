// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The learning rate as a function of the updates applied so far.

#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <triax/core/execution_space.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/device.hpp>

namespace triax {

/// A trivially copyable functor that maps the number of updates applied so far (0 before the first) to the
/// learning rate of the next one. It is evaluated where the step's state lives, so a skipped step does not
/// move it.
template <class S>
concept LearningRateSchedule =
    std::is_trivially_copyable_v<S> && requires(const S& schedule, std::int64_t applied) {
      { schedule(applied) } -> std::convertible_to<float>;
    };

/// A constant rate, optionally after a linear warm-up, optionally falling to a minimum:
///
///     LearningRate rate = 3e-4;
///     LearningRate rate = LearningRate(3e-4).warm_up(100).cosine(1000, 3e-5);
class LearningRate {
 public:
  constexpr LearningRate(double peak)
      : peak_(peak) {}  // NOLINT(google-explicit-constructor): a number is a rate

  /// Rises linearly over the first `updates`: update k (from 0) has peak (k + 1) / updates, the last of them
  /// the peak.
  constexpr LearningRate warm_up(std::int64_t updates) const {
    LearningRate result = *this;
    result.warm_up_ = updates;
    return result;
  }
  /// Falls on a half cosine from the peak after the warm-up to `minimum` at update `end`, and stays there.
  /// Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017, equation 5.
  constexpr LearningRate cosine(std::int64_t end, double minimum = 0) const {
    return falling(Fall::cosine, end, minimum);
  }
  /// Falls linearly from the peak after the warm-up to `minimum` at update `end`, and stays there.
  constexpr LearningRate linear(std::int64_t end, double minimum = 0) const {
    return falling(Fall::linear, end, minimum);
  }

  /// The rate of the update that follows `applied` updates.
  TRIAX_HD float operator()(std::int64_t applied) const {
    if (applied < warm_up_)
      return static_cast<float>(peak_ * static_cast<double>(applied + 1) / static_cast<double>(warm_up_));
    if (fall_ == Fall::none) return static_cast<float>(peak_);
    if (applied >= end_) return static_cast<float>(minimum_);
    const double progress = static_cast<double>(applied - warm_up_) / static_cast<double>(end_ - warm_up_);
    constexpr double pi = 3.141592653589793;
    const double left = fall_ == Fall::linear ? 1 - progress : 0.5 * (1 + std::cos(pi * progress));
    return static_cast<float>(minimum_ + (peak_ - minimum_) * left);
  }

 private:
  enum class Fall : std::uint8_t { none, linear, cosine };

  constexpr LearningRate falling(Fall fall, std::int64_t end, double minimum) const {
    LearningRate result = *this;
    result.fall_ = fall;
    result.end_ = end;
    result.minimum_ = minimum;
    return result;
  }

  double peak_;
  double minimum_ = 0;
  std::int64_t warm_up_ = 0;
  std::int64_t end_ = 0;
  Fall fall_ = Fall::none;
};

static_assert(LearningRateSchedule<LearningRate>);

namespace detail {

template <LearningRateSchedule S>
struct SetLearningRate {
  S schedule;
  StepState* state;

  TRIAX_HD void operator()() const { state->learning_rate = static_cast<float>(schedule(state->applied)); }
};

}  // namespace detail

/// Writes the rate of the coming update to `state->learning_rate`.
template <class Device, LearningRateSchedule S>
void set_learning_rate(Device& device, const S& schedule, StepState* state) {
  device.launch(detail::SetLearningRate<S>{schedule, state}, Cost{});
}

}  // namespace triax
