// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The update of stochastic gradient descent.

#pragma once

#include <cstdint>

#include <triax/core/step_state.hpp>
#include <triax/kernels/update.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

/// One step of gradient descent on `size` elements of one parameter. With g the clipped true gradient, r the
/// learning rate and b the buffer, which is zero before the first step:
///
///     g = g + decay w
///     b = momentum b + g
///     w = w - r b,   or with Nesterov's method   w = w - r (g + momentum b)
///
/// Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013,
/// equations 1 to 4, with the learning rate outside of the buffer. Without momentum `buffer` is null and w =
/// w - r g.
///
/// An element's result does not depend on its place in the range, so it is the same however a parameter is
/// cut.
struct SgdKernel {
  float* weights;
  const float* gradient;
  float* buffer;
  std::int64_t size;
  const std::int32_t* step_count;
  const StepState* state;
  double momentum;
  double decay;
  bool nesterov;

  void operator()() const {
    if (!is_updated(*state, *step_count)) return;
    if (!buffer) {
      update([](std::int64_t, auto, simd::Vector<float> slope) { return slope; });
      return;
    }
    float* const b = buffer;
    const auto wide_momentum = simd::broadcast(static_cast<float>(momentum));
    const auto next_momentum = [=](std::int64_t i, auto which, simd::Vector<float> slope) {
      const auto sum = simd::multiply_add(wide_momentum, simd::load(b + i, which), slope);
      simd::store(b + i, sum, which);
      return sum;
    };
    if (nesterov) {
      update([=](std::int64_t i, auto which, simd::Vector<float> slope) {
        return simd::multiply_add(wide_momentum, next_momentum(i, which, slope), slope);
      });
    } else {
      update(next_momentum);
    }
  }

 private:
  // w = w - r direction(decayed gradient)
  template <class Direction>
  void update(const Direction& direction) const {
    float* const w = weights;
    const float* const g = gradient;
    const float factor = gradient_factor(*state);
    const auto wide_decay = simd::broadcast(static_cast<float>(decay)),
               negative_rate = simd::broadcast(-state->learning_rate);
    simd::for_each_vector<float>(size, [=](std::int64_t i, auto which) {
      const auto weight = simd::load(w + i, which);
      const auto slope = simd::multiply_add(wide_decay, weight, simd::load(g + i, which) * factor);
      simd::store(w + i, simd::multiply_add(negative_rate, direction(i, which, slope), weight), which);
    });
  }
};

}  // namespace triax
