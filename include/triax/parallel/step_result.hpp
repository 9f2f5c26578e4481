// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a step tells, when asked.

#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <triax/core/error.hpp>
#include <triax/core/step_state.hpp>

namespace triax {

/// A view of a step's numbers, which stay where they were made until they are read. Reading after the next
/// step began throws Error: the numbers are that step's by then.
class StepResult {
 public:
  StepResult(const StepState& state, const std::uint64_t& current_step,
             const std::vector<std::string>& added_losses)
      : state_(&state), current_(&current_step), step_(current_step), added_losses_(&added_losses) {}

  /// The mean loss of a token over the whole mesh; 0 for a step without tokens.
  double loss() const { return mean(read().loss); }
  /// The mean per token of a loss that a layer added under `name`. Throws Error for a name that no layer
  /// added.
  double added_loss(std::string_view name) const {
    for (std::size_t i = 0; i < added_losses_->size(); ++i)
      if ((*added_losses_)[i] == name) return mean(read().added[i]);
    throw Error("no layer of the model adds a loss called '" + std::string(name) + "'");
  }
  /// The global L2 norm of the gradient, without the loss scale and before clipping. May be infinite or NaN.
  double grad_norm() const { return read().norm; }
  /// Whether the gradient was finite everywhere, so that the update was (or will be) applied.
  bool applied() const { return read().finite != 0; }
  /// The loss scale after this step.
  float loss_scale() const { return read().loss_scale; }
  /// The learning rate of this step's update.
  float learning_rate() const { return read().learning_rate; }
  /// The sum of the tokens' weights over the whole mesh.
  double tokens() const { return read().tokens; }
  /// Updates applied and skipped so far, this step's among them once it is updated.
  std::int64_t applied_steps() const { return read().applied; }
  std::int64_t skipped_steps() const { return read().skipped; }

 private:
  const StepState& read() const {
    if (*current_ != step_)
      throw Error("this StepResult belongs to step " + std::to_string(step_) + ", but step " +
                  std::to_string(*current_) + " has begun; read a result before the next step");
    return *state_;
  }
  double mean(double sum) const { return read().tokens > 0 ? sum / read().tokens : 0.0; }

  const StepState* state_;
  const std::uint64_t* current_;
  std::uint64_t step_;
  const std::vector<std::string>* added_losses_;
};

}  // namespace triax
