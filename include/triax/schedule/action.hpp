// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a pipeline rank does, as data.

#pragma once

#include <cstdint>

namespace triax {

/// The kinds of action. When the schedule splits its backward passes, `backward` is the half that yields the
/// gradient of the input, and `backward_weight` the half that yields those of the parameters.
enum class Do : std::uint8_t {
  receive_activation,
  forward,
  send_activation,
  receive_gradient,
  backward,
  send_gradient,
  backward_weight
};

/// The number of kinds in Do.
inline constexpr int action_kinds = 7;

/// The name of a kind, for messages.
constexpr const char* name(Do what) {
  switch (what) {
    case Do::receive_activation:
      return "receive_activation";
    case Do::forward:
      return "forward";
    case Do::send_activation:
      return "send_activation";
    case Do::receive_gradient:
      return "receive_gradient";
    case Do::backward:
      return "backward";
    case Do::send_gradient:
      return "send_gradient";
    case Do::backward_weight:
      return "backward_weight";
  }
  return "unknown";
}

/// One entry of a rank's action table.
struct Action {
  Do what{};
  std::uint8_t virtual_stage = 0;  ///< which of the rank's own virtual stages, from 0
  bool last = false;               ///< completes the step's gradients of its virtual stage
  std::uint16_t micro_batch = 0;
  std::uint16_t slot = 0;  ///< which of the rank's slots holds the activations of this piece of work

  constexpr bool operator==(const Action&) const = default;
};

/// Which passes a table makes through the model.
enum class Passes : std::uint8_t {
  forward,                  ///< evaluation
  forward_backward,         ///< training
  forward_backward_weight,  ///< training with split backward passes
};

/// The kinds of computation in the passes, communication apart.
constexpr int computations(Passes passes) { return static_cast<int>(passes) + 1; }

}  // namespace triax
