// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What is partitioned over a replica group.

#pragma once

#include <cstdint>

#include <triax/engine/sharding.hpp>
#include <triax/parallel/policies/axis.hpp>

namespace triax {

/// The sharding stages of ZeRO (Rajbhandari et al., SC 2020, section 5); each includes the one before.
enum class Stage : std::int8_t {
  run_time = -1,  ///< not a stage: the policy's value says which
  none,
  optimizer,   ///< ZeRO-1: master weights and optimizer state
  gradients,   ///< ZeRO-2: also gradients
  parameters,  ///< ZeRO-3: also parameters
};

/// Where the micro-batches of a step add up.
enum class Accumulate : std::uint8_t {
  by_stage,  ///< sharded from Stage::gradients on, local before
  local,     ///< in a full gradient, reduced once: more memory, less traffic, the same bits for all stages
  sharded,   ///< every micro-batch is reduce-scattered into the owned slice
};

/// Each rank of a replica group keeps only its slice of what the stage says. As a type,
/// `Sharded<Stage::parameters>`; as a value, `Sharded<>{stage}`.
template <Stage S = Stage::run_time>
struct Sharded {
  using axis = triax::axis::sharding;

  static constexpr Stage stage = S;
  Accumulate accumulate = Accumulate::by_stage;
};
template <>
struct Sharded<Stage::run_time> {
  using axis = triax::axis::sharding;

  Stage stage = Stage::none;
  Accumulate accumulate = Accumulate::by_stage;
};

/// Where micro-batches add up under a policy.
template <Stage S>
constexpr Accumulate accumulation(const Sharded<S>& policy) {
  if (policy.accumulate != Accumulate::by_stage) return policy.accumulate;
  return policy.stage >= Stage::gradients ? Accumulate::sharded : Accumulate::local;
}

/// A sharding stage as three independent facts.
template <Stage S>
constexpr ShardingFlags sharding_flags(const Sharded<S>& policy) {
  return {.state = policy.stage >= Stage::optimizer,
          .gradients = policy.stage >= Stage::gradients && accumulation(policy) == Accumulate::sharded,
          .parameters = policy.stage >= Stage::parameters};
}

}  // namespace triax
