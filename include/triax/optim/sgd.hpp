// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Stochastic gradient descent.

#pragma once

#include <triax/device/device.hpp>
#include <triax/kernels/sgd.hpp>
#include <triax/optim/optimizer.hpp>

namespace triax {

/// Gradient descent with momentum, Nesterov's variant and L2 decay (see SgdKernel for the formulas), as
/// torch.optim.SGD without dampening. The decay is added to the gradient after clipping and is no part of the
/// norm.
struct Sgd {
  LearningRate lr = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< not applied to parameters with `Parameter::decay` off

  static constexpr bool elementwise = true;
  static constexpr int max_states = 1;
  constexpr int states() const { return momentum != 0 ? 1 : 0; }
  constexpr LearningRate learning_rate() const { return lr; }

  template <class Device>
  void update(Device& device, const UpdateRange& range, const StepState* state) const {
    const double size = static_cast<double>(range.size);
    const double buffer = 2 * states();  // read and written
    device.launch(
        SgdKernel{range.weights, range.gradient, momentum != 0 ? range.state[0] : nullptr, range.size,
                  range.step_count, state, momentum, range.decay ? weight_decay : 0, nesterov},
        Cost{(5 + buffer) * size, (3 + buffer) * sizeof(float) * size});
  }
};

static_assert(Optimizer<Sgd>);

}  // namespace triax
