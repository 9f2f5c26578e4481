// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// One parameter on the host, with all that its optimizer needs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <triax/core/step_state.hpp>
#include <triax/device/host.hpp>
#include <triax/optim/optimizer.hpp>

namespace triax::test {

struct TrainedParameter {
  std::vector<float> weights;
  std::vector<float> states[max_optimizer_states];
  std::int32_t step_count = 0;
  bool decay = true;

  explicit TrainedParameter(std::vector<float> initial) : weights(std::move(initial)) {
    for (auto& state : states) state.resize(weights.size());
  }

  UpdateRange range(const std::vector<float>& gradient, std::size_t first, std::size_t size) {
    UpdateRange range{.weights = weights.data() + first,
                      .gradient = gradient.data() + first,
                      .size = static_cast<std::int64_t>(size),
                      .decay = decay,
                      .step_count = &step_count};
    for (std::size_t i = 0; i < range.state.size(); ++i) range.state[i] = states[i].data() + first;
    return range;
  }

  /// A step as the engine makes it: the count moves with an applied update, then the update runs.
  template <class O>
  void update(const O& optimizer, const std::vector<float>& gradient, const StepState& state) {
    if (state.finite) ++step_count;
    Host host;
    optimizer.update(host, range(gradient, 0, weights.size()), &state);
  }
};

/// A state whose next update has this learning rate.
inline StepState at_rate(float learning_rate) {
  StepState state;
  state.learning_rate = learning_rate;
  return state;
}

}  // namespace triax::test
