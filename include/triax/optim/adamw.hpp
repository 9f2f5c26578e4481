// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// AdamW.

#pragma once

#include <triax/device/device.hpp>
#include <triax/kernels/adamw.hpp>
#include <triax/optim/optimizer.hpp>

namespace triax {

/// Adam with decoupled weight decay (see AdamWKernel for the formulas); each parameter has its own step
/// count.
struct AdamW {
  LearningRate lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< not applied to parameters with `Parameter::decay` off: biases and norms

  static constexpr bool elementwise = true;
  static constexpr int max_states = 2;
  constexpr int states() const { return 2; }
  constexpr LearningRate learning_rate() const { return lr; }

  template <class Device>
  void update(Device& device, const UpdateRange& range, const StepState* state) const {
    const double size = static_cast<double>(range.size);
    device.launch(AdamWKernel{range.weights, range.gradient, range.state[0], range.state[1], range.size,
                              range.step_count, state, beta1, beta2, epsilon, range.decay ? weight_decay : 0},
                  Cost{15 * size, 7 * sizeof(float) * size});
  }
};

static_assert(Optimizer<AdamW>);

}  // namespace triax
