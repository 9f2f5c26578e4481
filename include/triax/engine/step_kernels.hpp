// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Small kernels at the end of a step.

#pragma once

#include <triax/core/step_state.hpp>

namespace triax::detail {

/// Counts a step once it is updated.
struct CountStep {
  StepState* state;

  void operator()() const {
    (state->finite ? state->applied : state->skipped) += 1;
    state->step += 1;
  }
};

/// Writes the losses of an evaluation into its message: the main one, then those that layers added. `counts`
/// is false on ranks whose losses are copies of another's.
struct ComposeEvaluation {
  double* message;
  const StepState* state;
  bool counts;

  void operator()() const {
    message[0] = counts ? state->loss : 0;
    for (int i = 0; i < max_added_losses; ++i) message[1 + i] = counts ? state->added[i] : 0;
  }
};

}  // namespace triax::detail
