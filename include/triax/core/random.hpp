// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Counter-based random numbers: a value is a pure function of a key and a counter, so no rank, thread,
// micro-batch or layout enters.

#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include <triax/core/execution_space.hpp>

namespace triax {

/// Four 32-bit numbers from a 128-bit counter and a 64-bit key: Philox4x32-10. Salmon, Moraes, Dror and Shaw,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3 and table 2.
TRIAX_HD constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                       std::uint64_t key) {
  std::uint32_t key_low = static_cast<std::uint32_t>(key);
  std::uint32_t key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = 0xd2511f53ULL * counter[0];
    const std::uint64_t product1 = 0xcd9e8d57ULL * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key_low,
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key_high,
               static_cast<std::uint32_t>(product0)};
    key_low += 0x9e3779b9U;
    key_high += 0xbb67ae85U;
  }
  return counter;
}

/// The same with the counter as two 64-bit numbers.
TRIAX_HD constexpr std::array<std::uint32_t, 4> philox(std::uint64_t low, std::uint64_t high,
                                                       std::uint64_t key) {
  return philox({static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                 static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)},
                key);
}

/// A 32-bit number as a float in [0, 1), with 24 random bits.
TRIAX_HD constexpr float to_unit(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

/// A standard normal number from two 32-bit numbers, by the transformation of Box and Muller ("A note on the
/// generation of random normal deviates", 1958). The first is mapped to (0, 1], so the logarithm is finite.
inline float to_normal(std::uint32_t radius, std::uint32_t angle) {
  const double u = (static_cast<double>(radius) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(angle) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

/// A whole number in [0, bound) that is uniform up to 2^-64 * bound; `bound` is positive.
constexpr std::uint64_t random_below(std::uint64_t bound, std::uint64_t seed, std::uint64_t index) {
  const auto bits = philox(index, 0, seed);
  const std::uint64_t value = static_cast<std::uint64_t>(bits[1]) << 32 | bits[0];
  // The high word of value * bound, by halves: a portable 64 x 64 bit product.
  const std::uint64_t low = (value & 0xffffffffU) * (bound & 0xffffffffU);
  const std::uint64_t cross1 = (value >> 32) * (bound & 0xffffffffU) + (low >> 32);
  const std::uint64_t cross2 = (value & 0xffffffffU) * (bound >> 32) + (cross1 & 0xffffffffU);
  return (value >> 32) * (bound >> 32) + (cross1 >> 32) + (cross2 >> 32);
}

}  // namespace triax
