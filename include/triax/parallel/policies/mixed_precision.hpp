// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// In which type layers compute.

#pragma once

#include <type_traits>

#include <triax/core/float16.hpp>
#include <triax/engine/loss_scale.hpp>
#include <triax/engine/updater.hpp>
#include <triax/parallel/policies/axis.hpp>

namespace triax {

/// Scales the loss, so that small gradients do not vanish in fp16, and skips steps whose gradients overflow.
struct LossScaling {};
/// Leaves the loss as it is: right for bf16 and fp32, whose exponents are as wide as a gradient's.
struct NoScaling {};

/// Parameters and streams in the 16-bit type T; gradients, master weights and optimizer state stay fp32.
/// Micikevicius et al., "Mixed precision training", ICLR 2018, sections 3.1 and 3.2.
template <class T, class Scaling = std::conditional_t<std::is_same_v<T, fp16>, LossScaling, NoScaling>>
struct MixedPrecision {
  using axis = triax::axis::precision;
  using compute = T;
  using scaling = Scaling;

  LossScale loss_scale{};                 ///< how the scale moves; of no meaning under NoScaling
  Rounding rounding = Rounding::nearest;  ///< of master weights to bf16 parameters
};

/// The absent answer: everything in fp32.
struct FullPrecision {
  using axis = triax::axis::precision;
  using compute = float;
  using scaling = NoScaling;

  LossScale loss_scale{};
  Rounding rounding = Rounding::nearest;
};

}  // namespace triax
