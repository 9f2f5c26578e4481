// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What an optimizer is.

#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include <triax/core/step_state.hpp>
#include <triax/device/host.hpp>
#include <triax/optim/learning_rate.hpp>

namespace triax {

/// The most floats that an optimizer may keep for each weight.
inline constexpr int max_optimizer_states = 4;

/// A part of one parameter for an optimizer to update. All pointers are the device's.
struct UpdateRange {
  float* weights = nullptr;         ///< fp32 (master) weights
  const float* gradient = nullptr;  ///< as accumulated: the true gradient times the loss scale, not clipped
  std::array<float*, max_optimizer_states>
      state{};            ///< the optimizer's own numbers, zero before the first update
  std::int64_t size = 0;  ///< elements of each of these
  bool decay = true;      ///< whether weight decay applies to the parameter
  const std::int32_t* step_count =
      nullptr;  ///< updates of this parameter with this one; not positive: no gradient
};

/// Says whether an element's update depends on that element alone. If so, a rank can update any part of a
/// parameter.
template <class O>
concept DeclaresElementwise = requires {
  { O::elementwise } -> std::convertible_to<bool>;
};

/// Says how many floats it keeps for each weight: at most (`max_states`), and as it is set up (`states()`).
template <class O>
concept CountsStates = requires(const O& optimizer) {
  requires O::max_states >= 0 && O::max_states <= max_optimizer_states;
  { optimizer.states() } -> std::convertible_to<int>;
};

/// Has a learning rate that depends on the number of applied updates alone.
template <class O>
concept HasLearningRate = requires(const O& optimizer) {
  { optimizer.learning_rate() } -> LearningRateSchedule;
};

/// `update(device, range, state)` launches the update of a range of one parameter. Its kernel reads
/// everything that a step decides from device memory: it must change nothing if `state->finite` is 0 or
/// `*range.step_count` is not positive, and multiply the gradient by `state->clip / state->loss_scale`.
template <class O>
concept UpdatesRange =
    requires(const O& optimizer, Host& device, const UpdateRange& range, const StepState* state) {
      { optimizer.update(device, range, state) } -> std::same_as<void>;
    };

/// A value that holds an update rule and its options; what it remembers of each weight lives in UpdateRange.
template <class O>
concept Optimizer =
    std::copyable<O> && DeclaresElementwise<O> && CountsStates<O> && HasLearningRate<O> && UpdatesRange<O>;

}  // namespace triax
