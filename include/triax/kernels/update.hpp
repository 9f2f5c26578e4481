// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the update kernels share.

#pragma once

#include <cstdint>

#include <triax/core/step_state.hpp>

namespace triax {

/// Whether a parameter is updated in this step: every gradient is finite, and the parameter has one. Its step
/// count includes this step, and is not positive when it has no gradient.
inline bool is_updated(const StepState& state, std::int32_t step_count) {
  return state.finite != 0 && step_count > 0;
}

/// By which a gradient as it was accumulated is multiplied to get the clipped true one.
inline float gradient_factor(const StepState& state) {
  return static_cast<float>(static_cast<double>(state.clip) / static_cast<double>(state.loss_scale));
}

}  // namespace triax
