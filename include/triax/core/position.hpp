// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where a token stands, and the random numbers that belong to it.

#pragma once

#include <array>
#include <cstdint>

#include <triax/core/execution_space.hpp>
#include <triax/core/random.hpp>

namespace triax {

/// The global positions of the tokens that this rank holds: masks and rotary angles use them, never a local
/// index.
struct Positions {
  std::int64_t first = 0;

  TRIAX_HD constexpr std::int64_t operator()(std::int64_t local) const { return first + local; }
};

/// Random numbers of one site in the model: a pure function of seed, site, step, sample, position and
/// feature.
struct RandomSite {
  std::uint64_t key = 0;               ///< seed and site, mixed
  const std::int64_t* step = nullptr;  ///< StepState::step, read where the kernel runs
  std::int64_t first_sample = 0;       ///< number of the micro-batch's first sequence in the global batch
  Positions positions{};

  /// Four 32-bit numbers for features [4 * group, 4 * group + 4) of token `token` of sequence `sequence`,
  /// both counted inside the micro-batch.
  TRIAX_HD constexpr std::array<std::uint32_t, 4> operator()(std::int64_t sequence, std::int64_t token,
                                                             std::int64_t group) const {
    return philox({static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(positions(token)),
                   static_cast<std::uint32_t>(first_sample + sequence), static_cast<std::uint32_t>(*step)},
                  key);
  }
};

}  // namespace triax
