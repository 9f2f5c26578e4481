// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Dynamic loss scaling.

#pragma once

#include <cstdint>
#include <string>

#include <triax/core/error.hpp>
#include <triax/core/execution_space.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/device.hpp>

namespace triax {

/// How the loss scale moves. Micikevicius et al., "Mixed precision training", ICLR 2018, section 3.2.
///
/// The defaults are the most widely used rule, and reach neither 0 nor infinity. Rules of other systems, all
/// with factors 2 and 0.5 (Colossal-AI: as Megatron-LM from 2^16 with a ceiling of 2^32):
///
/// | rule                   | initial | interval | hysteresis | grace | refill       | floor | skip_limit |
/// |------------------------|---------|----------|------------|-------|--------------|-------|------------|
/// | PyTorch GradScaler     | 2^16    | 2000     | 1          | 0     |              | 0     | 0          |
/// | DeepSpeed              | 2^16    | 1000     | 2          | 1     | on_growth    | 1     | 1          |
/// | DeepSpeed, consecutive | 2^16    | 1000     | 2          | 1     | on_good_step | 1     | 1          |
/// | Megatron-LM            | 2^32    | 1000     | 2          | 0     | on_growth    | 1     | 0          |
/// | FairScale              | 2^15    | 2000     | 1          | 0     |              | 2^-13 | 1          |
struct LossScale {
  /// When the overflows that are tolerated become `hysteresis` again.
  enum class Refill : std::uint8_t { on_growth, on_good_step };

  float initial = 65536;
  float growth = 2;      ///< factor after `interval` good steps in a row
  float backoff = 0.5F;  ///< factor after an overflow
  float floor = 1;       ///< the scale never falls below
  float ceiling = 0x1p127F;
  std::int32_t interval = 2000;
  std::int32_t hysteresis = 1;  ///< how many overflows it takes to lower the scale; each skips its step
  Refill refill = Refill::on_growth;
  /// Good steps that do not count towards `interval`, at the start and after each overflow.
  std::int32_t grace = 0;
  /// Training stops at this many overflows at the floor without a good step between them; 0: never.
  std::int32_t skip_limit = 0;

  /// A scale that stays; a step that overflows is skipped all the same.
  static constexpr LossScale fixed(float scale) {
    return {.initial = scale, .growth = 1, .backoff = 1, .floor = 0, .ceiling = scale};
  }
};

namespace detail {

struct BeginLossScale {
  LossScale options;
  StepState* state;

  TRIAX_HD void operator()() const {
    state->loss_scale = options.initial;
    state->good_steps = -options.grace;
    state->hysteresis = options.hysteresis;
    state->skips_at_floor = 0;
  }
};

struct UpdateLossScale {
  LossScale options;
  StepState* state;

  TRIAX_HD void operator()() const { state->finite ? after_good_step() : after_overflow(); }

 private:
  TRIAX_HD void after_good_step() const {
    state->skips_at_floor = 0;
    if (options.refill == LossScale::Refill::on_good_step) state->hysteresis = options.hysteresis;
    if (++state->good_steps < options.interval) return;
    state->good_steps = 0;
    state->hysteresis = options.hysteresis;
    const float grown = state->loss_scale * options.growth;
    state->loss_scale = grown < options.ceiling ? grown : options.ceiling;
  }
  TRIAX_HD void after_overflow() const {
    state->good_steps = -options.grace;
    if (state->hysteresis > 1) {
      --state->hysteresis;
      return;
    }
    if (state->loss_scale <= options.floor) ++state->skips_at_floor;
    const float lowered = state->loss_scale * options.backoff;
    state->loss_scale = lowered > options.floor ? lowered : options.floor;
  }
};

}  // namespace detail

/// Writes the initial scale and its counters.
template <class Device>
void begin_loss_scale(Device& device, const LossScale& options, StepState* state) {
  device.launch(detail::BeginLossScale{options, state}, Cost{});
}

/// Moves the scale after a step, applied or skipped: the only thing that a skipped step changes beside its
/// count. All ranks hold the same state before and the same agreed `finite`, so they hold the same after it.
template <class Device>
void update_loss_scale(Device& device, const LossScale& options, StepState* state) {
  device.launch(detail::UpdateLossScale{options, state}, Cost{});
}

/// Throws Error when `options.skip_limit` is set and reached. `state` is read by the host.
inline void check_loss_scale(const LossScale& options, const StepState& state) {
  if (options.skip_limit <= 0 || state.skips_at_floor < options.skip_limit) return;
  throw Error("the loss scale is at its floor of " + std::to_string(options.floor) + ", and " +
              std::to_string(state.skips_at_floor) +
              " steps in a row were skipped there because a gradient was not finite; lower the learning "
              "rate, look for a "
              "layer that overflows, or compute in bf16");
}

}  // namespace triax
