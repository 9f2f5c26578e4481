// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What happens to gradients before the update.

#pragma once

#include <cstdint>

#include <triax/parallel/policies/axis.hpp>

namespace triax {

/// What is limited.
enum class By : std::int8_t {
  run_time = -1,  ///< not a choice: the policy's value says which
  none,
  norm,   ///< the gradient's global L2 norm: it is scaled down as a whole
  value,  ///< each element's magnitude
};

/// Limits gradients once they are reduced, agreed upon and rid of the loss scale. `Clip<By::norm>{.limit =
/// 1}`, or `Clip<>{By::norm, 1}`.
template <By B = By::run_time>
struct Clip {
  using axis = triax::axis::clipping;

  static constexpr By by = B;
  float limit = 1;
};
template <>
struct Clip<By::run_time> {
  using axis = triax::axis::clipping;

  By by = By::none;
  float limit = 1;
};

}  // namespace triax
