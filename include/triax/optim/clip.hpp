// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Limits on the gradient before an update.

#pragma once

#include <cstdint>

#include <triax/core/execution_space.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/device.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

namespace detail {

struct ClipNorm {
  double limit;
  StepState* state;

  TRIAX_HD void operator()() const {
    state->clip = state->norm > limit ? static_cast<float>(limit / state->norm) : 1.0F;
  }
};

struct ClipValues {
  float* gradient;
  std::int64_t size;
  double limit;
  const StepState* state;

  void operator()() const {
    if (!state->finite) return;
    float* const g = gradient;
    const auto bound = simd::broadcast(static_cast<float>(limit * static_cast<double>(state->loss_scale)));
    simd::for_each_vector<float>(size, [=](std::int64_t i, auto which) {
      simd::store(g + i, simd::maximum(-bound, simd::minimum(bound, simd::load(g + i, which))), which);
    });
  }
};

}  // namespace detail

/// Sets `state->clip` so that the true gradient has at most the norm `limit`: limit / norm if `state->norm`
/// exceeds it, else exactly 1, so that small gradients keep their bits. (Libraries that divide by norm + 1e-6
/// shrink every clipped gradient by that much more.) Pascanu et al., "On the difficulty of training recurrent
/// neural networks", ICML 2013, algorithm 1.
template <class Device>
void clip_norm(Device& device, double limit, StepState* state) {
  device.launch(detail::ClipNorm{limit, state}, Cost{});
}

/// Limits each element of the true gradient to [-limit, limit]: the gradient as it was accumulated, which
/// still carries the loss scale, to `limit` times that. Does nothing in a step that is skipped.
template <class Device>
void clip_values(Device& device, float* gradient, std::int64_t size, double limit, const StepState* state) {
  device.launch(detail::ClipValues{gradient, size, limit, state},
                Cost{2.0 * static_cast<double>(size), 8.0 * static_cast<double>(size)});
}

}  // namespace triax
