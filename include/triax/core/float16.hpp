// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The 16-bit floating-point types: two bytes of storage that convert explicitly from and to float.

#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <triax/core/execution_space.hpp>

namespace triax {

/// bfloat16: the upper half of an IEEE-754 binary32. Conversion from float rounds to nearest, ties to even; a
/// NaN stays a (quiet) NaN.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  TRIAX_HD explicit constexpr bf16(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}
  TRIAX_HD explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend constexpr bool operator==(bf16, bf16) = default;

 private:
  TRIAX_HD static constexpr std::uint16_t round(std::uint32_t u) {
    const std::uint32_t rounded = (u + 0x7fffU + ((u >> 16) & 1U)) >> 16;
    const std::uint32_t quiet_nan = (u >> 16) | 0x40U;
    return static_cast<std::uint16_t>((u & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
  }
};

/// IEEE-754 binary16. Conversion from float rounds to nearest, ties to even; from 65520 on the result is
/// infinity; values below 2^-14 become subnormal.
struct fp16 {
  std::uint16_t bits = 0;

  fp16() = default;
  TRIAX_HD explicit constexpr fp16(float value) : bits(round(value)) {}

  /// Exact: the exponent is moved by one multiplication with 2^112, which also normalises subnormal numbers.
  TRIAX_HD explicit constexpr operator float() const {
    const std::uint32_t magnitude = (bits & 0x7fffU) << 13;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
    const std::uint32_t special = (bits & 0x7c00U) == 0x7c00U ? magnitude | 0x7f800000U : scaled;
    return std::bit_cast<float>(sign | special);
  }
  friend constexpr bool operator==(fp16, fp16) = default;

 private:
  // The three cases are computed without branches, so that bulk conversions vectorise.
  TRIAX_HD static constexpr std::uint16_t round(float value) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (u >> 16) & 0x8000U;
    const std::uint32_t magnitude = u & 0x7fffffffU;
    // Adding 0.5 aligns a subnormal result with the last bits of the significand, where the addition rounds
    // it.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    const std::uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
    const std::uint32_t finite = magnitude < (113U << 23) ? subnormal : normal;
    return static_cast<std::uint16_t>(sign | (magnitude >= 0x477ff000U ? special : finite));
  }
};

/// The element types that layers compute in.
template <class T>
concept ComputeType =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bf16> || std::same_as<T, fp16>;

/// The type in which sums over T are held: double for double, float for everything narrower.
template <ComputeType T>
struct AccumulatorOf {
  using type = float;
};
template <>
struct AccumulatorOf<double> {
  using type = double;
};
template <ComputeType T>
using accumulator_t = typename AccumulatorOf<T>::type;

/// The lower-case name of a compute type, as used by options and messages.
template <ComputeType T>
constexpr const char* type_name() {
  if constexpr (std::same_as<T, float>) return "fp32";
  if constexpr (std::same_as<T, double>) return "fp64";
  if constexpr (std::same_as<T, bf16>) return "bf16";
  return "fp16";
}

}  // namespace triax
