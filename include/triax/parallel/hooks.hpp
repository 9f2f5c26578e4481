// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The points at which a program may look into a step.

#pragma once

#include <triax/core/tensor.hpp>
#include <triax/engine/layout.hpp>
#include <triax/nn/context.hpp>
#include <triax/parallel/policies/axis.hpp>

namespace triax {

// A hook is a policy with `using axis = triax::axis::hook;` and any of these members; those that are absent
// cost nothing:
//
//   void before_unit(int unit, Phase phase);             the unit's parameters are complete
//   void after_unit(int unit, Phase phase);
//   void gradient_ready(const PlacedParameter& parameter); its last gradient of the step has been accumulated
//   void before_update(const PlacedParameter& parameter, Tensor<float, Device> gradient);
//       the reduced gradient of the elements that this rank updates, times the loss scale; it may be changed

/// Calls `before_unit` of every hook that has it.
template <class S>
void call_before_unit(S& strategy, int unit, Phase phase) {
  strategy.each_hook([&](auto& hook) {
    if constexpr (requires { hook.before_unit(unit, phase); }) hook.before_unit(unit, phase);
  });
}
/// Calls `after_unit` of every hook that has it.
template <class S>
void call_after_unit(S& strategy, int unit, Phase phase) {
  strategy.each_hook([&](auto& hook) {
    if constexpr (requires { hook.after_unit(unit, phase); }) hook.after_unit(unit, phase);
  });
}
/// Calls `gradient_ready` of every hook that has it.
template <class S>
void call_gradient_ready(S& strategy, const PlacedParameter& parameter) {
  strategy.each_hook([&](auto& hook) {
    if constexpr (requires { hook.gradient_ready(parameter); }) hook.gradient_ready(parameter);
  });
}
/// Calls `before_update` of every hook that has it.
template <class S, class Device>
void call_before_update(S& strategy, const PlacedParameter& parameter, Tensor<float, Device> gradient) {
  strategy.each_hook([&](auto& hook) {
    if constexpr (requires { hook.before_update(parameter, gradient); })
      hook.before_update(parameter, gradient);
  });
}

}  // namespace triax
