// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What is partitioned over a replica group: ZeRO's three stages as three independent facts.

#pragma once

namespace triax {

/// Which parts of a chunk each rank of its group holds only its own slice of.
///
/// Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models", SC 2020,
/// section 5: stage 1 partitions `state`, stage 2 also `gradients`, stage 3 also `parameters`.
struct ShardingFlags {
  bool state = false;       ///< master weights and optimizer state
  bool gradients = false;   ///< every micro-batch's gradient is reduce-scattered into the owned accumulator
  bool parameters = false;  ///< parameters are gathered for each use

  friend constexpr bool operator==(const ShardingFlags&, const ShardingFlags&) = default;
};

}  // namespace triax
