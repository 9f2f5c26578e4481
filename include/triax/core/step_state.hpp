// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The numbers of a training step that live beside the data, so that no decision needs the host to wait.

#pragma once

#include <cstdint>

namespace triax {

/// A loss before its division: sums over tokens, never means. Only the engine divides.
struct LossSum {
  double sum = 0;     ///< weighted sum of the tokens' losses
  double weight = 0;  ///< sum of the tokens' weights
};

/// The most losses that layers may add to the model's own, by name (`Ctx::add_loss`).
inline constexpr int max_added_losses = 4;

/// The state of a step, in device memory (in host memory for Host). Kernels take a pointer to it.
///
/// In a step the fields are written in this order: `tokens`, `seed` and `gradient_scale` (count), `loss`
/// (after each micro-batch), `norm`, `finite` (finalise), `clip` and `learning_rate` (before the update),
/// counters and `loss_scale` (after it).
struct StepState {
  double tokens = 0;                 ///< sum of weights over the micro-batches and all ranks that split data
  double loss = 0;                   ///< sum of the main loss; agreed over the mesh by the end of the step
  double added[max_added_losses]{};  ///< sums of the losses that layers added, likewise
  double norm = 0;                   ///< global L2 norm of the true (unscaled) gradient, before clipping
  float seed = 0;                    ///< loss_scale / tokens, 0 without tokens: where every backward starts
  float loss_scale = 1;
  float gradient_scale = 1;         ///< the loss scale that the gradient in memory carries
  float clip = 1;                   ///< factor by which norm clipping multiplies the true gradient
  float learning_rate = 0;          ///< of this update
  std::int32_t finite = 1;          ///< 0: some rank saw a gradient that is not finite; the update is skipped
  std::int32_t good_steps = 0;      ///< good steps in a row since the loss scale last changed
  std::int32_t hysteresis = 1;      ///< overflows left before the loss scale is lowered
  std::int32_t skips_at_floor = 0;  ///< skipped steps in a row while the loss scale is at its floor
  std::int64_t applied = 0;         ///< updates applied so far
  std::int64_t skipped = 0;         ///< updates skipped so far
  std::int64_t step = 0;            ///< calls of step so far, applied or not: keys dropout
};

}  // namespace triax
