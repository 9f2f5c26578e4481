// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The update of AdamW, in one pass over weights, gradient and both moments.

#pragma once

#include <cmath>
#include <cstdint>

#include <triax/core/step_state.hpp>
#include <triax/kernels/update.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

/// One step of Adam with decoupled weight decay on `size` elements of one parameter.
///
/// Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1; Loshchilov and
/// Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2, whose schedule multiplier and
/// step size are `state->learning_rate` together. With t = *step_count, g the clipped true gradient and r the
/// learning rate:
///
///     m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
///     w = (1 - r decay) w - r / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)
///
/// An element's result does not depend on its place in the range, so it is the same however a parameter is
/// cut.
struct AdamWKernel {
  float* weights;
  const float* gradient;
  float* first_moment;
  float* second_moment;
  std::int64_t size;
  const std::int32_t* step_count;
  const StepState* state;
  double beta1;
  double beta2;
  double epsilon;
  double decay;

  void operator()() const {
    if (!is_updated(*state, *step_count)) return;
    const double rate = static_cast<double>(state->learning_rate);
    update({.factor = gradient_factor(*state),
            .keep = static_cast<float>(1 - rate * decay),
            .step = static_cast<float>(rate / correction(beta1)),
            .scale = static_cast<float>(1 / std::sqrt(correction(beta2)))});
  }

 private:
  struct Coefficients {
    float factor;  // of the gradient
    float keep;    // of the weights
    float step;
    float scale;  // of the root of the second moment
  };

  double correction(double beta) const { return 1 - std::pow(beta, static_cast<double>(*step_count)); }

  void update(const Coefficients& c) const {
    // Copies, because for all the compiler knows a store through a float pointer might change a member.
    float* const w = weights;
    float* const m = first_moment;
    float* const v = second_moment;
    const float* const g = gradient;
    const auto wide = [](auto value) { return simd::broadcast(static_cast<float>(value)); };
    const auto keep1 = wide(beta1), keep2 = wide(beta2), take1 = wide(1 - beta1), take2 = wide(1 - beta2);
    const auto factor = wide(c.factor), keep = wide(c.keep), step = wide(-c.step);
    const auto scale = wide(c.scale), floor = wide(epsilon);
    simd::for_each_vector<float>(size, [=](std::int64_t i, auto which) {
      const auto slope = simd::load(g + i, which) * factor;
      const auto mean = simd::multiply_add(keep1, simd::load(m + i, which), take1 * slope);
      const auto square = simd::multiply_add(keep2, simd::load(v + i, which), take2 * slope * slope);
      const auto spread = simd::multiply_add(square_root(square), scale, floor);
      const auto moved = simd::multiply_add(step, mean / spread, simd::load(w + i, which) * keep);
      simd::store(m + i, mean, which);
      simd::store(v + i, square, which);
      simd::store(w + i, moved, which);
    });
  }

  static simd::Vector<float> square_root(simd::Vector<float> x) {
    for (int i = 0; i < simd::lanes<float>; ++i) x[i] = std::sqrt(x[i]);
    return x;
  }
};

}  // namespace triax
