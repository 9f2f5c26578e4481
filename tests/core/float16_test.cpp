// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The 16-bit types against their definitions, for every bit pattern.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <doctest/doctest.h>

#include <triax/core/float16.hpp>

namespace triax {
namespace {

/// How a 16-bit format divides its bits.
struct Format {
  int exponent_bits;
  int mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// The value of a bit pattern by the definition of IEEE 754.
  double value(std::uint32_t bits) const {
    const double sign = (bits >> 15) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
    if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias() - mantissa_bits);
  }
  /// The number of this format that is nearest to `exact`, ties to even.
  double nearest(double exact) const {
    if (exact == 0 || !std::isfinite(exact)) return exact;
    const int exponent = std::max(std::ilogb(exact), 1 - bias());
    const double unit = std::ldexp(1, exponent - mantissa_bits);
    const double rounded = std::nearbyint(exact / unit) * unit;
    const double limit = std::ldexp(1, bias() + 1);
    return std::abs(rounded) >= limit ? std::copysign(INFINITY, exact) : rounded;
  }
};

constexpr Format binary16{5, 10};
constexpr Format brain{8, 7};

template <class T>
T from_bits(std::uint32_t bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

/// Equal, with the sign of zero, or both not a number.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
double through(float value) {
  return static_cast<double>(static_cast<float>(T(value)));
}

template <class T>
void check_every_pattern(const Format& format) {
  int wrong_values = 0;
  int wrong_trips = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const T number = from_bits<T>(bits);
    const auto wide = static_cast<float>(number);
    if (!same(static_cast<double>(wide), format.value(bits))) ++wrong_values;
    const bool returns = std::isnan(wide) ? std::isnan(static_cast<float>(T(wide))) : T(wide) == number;
    if (!returns) ++wrong_trips;
  }
  CHECK(wrong_values == 0);
  CHECK(wrong_trips == 0);
}

template <class T>
void check_rounding(const Format& format) {
  int wrong = 0;
  const auto check = [&](float value) {
    if (!same(through<T>(value), format.nearest(static_cast<double>(value)))) ++wrong;
  };
  // Around every number of the format: itself, the tie above it, and the floats beside each.
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = format.value(bits);
    if (!std::isfinite(value)) continue;
    const double next = format.value(bits + 1);
    const double above = std::isfinite(next) ? next : std::copysign(std::ldexp(1, format.bias() + 1), value);
    for (const double centre : {value, value / 2 + above / 2}) {
      const auto exact = static_cast<float>(centre);
      check(exact);
      check(std::nextafter(exact, INFINITY));
      check(std::nextafter(exact, -INFINITY));
    }
  }
  // And floats of every exponent.
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    check(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  CHECK(wrong == 0);
}

TEST_CASE("every fp16 has the value of IEEE 754 and survives a trip through float") {
  check_every_pattern<fp16>(binary16);
}

TEST_CASE("every bf16 has the value of its upper half float and survives a trip through float") {
  check_every_pattern<bf16>(brain);
}

TEST_CASE("fp16 rounds to nearest, ties to even") { check_rounding<fp16>(binary16); }

TEST_CASE("bf16 rounds to nearest, ties to even") { check_rounding<bf16>(brain); }

TEST_CASE("the limits of fp16 and bf16") {
  CHECK(through<fp16>(65504) == 65504);
  CHECK(through<fp16>(65519) == 65504);
  CHECK(std::isinf(through<fp16>(65520)));
  CHECK(through<fp16>(0x1p-24F) == 0x1p-24);
  CHECK(through<fp16>(0x1p-25F) == 0);
  CHECK(std::signbit(through<fp16>(-0x1p-25F)));
  CHECK(std::isinf(through<bf16>(std::numeric_limits<float>::max())));
  CHECK(through<bf16>(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("NaN stays NaN, whatever bits it has") {
  for (const std::uint32_t payload :
       {1U, 0x1fffU, 0x2000U, 0xffffU, 0x10000U, 0x3fffffU, 0x400000U, 0x7fffffU}) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const auto nan = std::bit_cast<float>(sign | 0x7f800000U | payload);
      CHECK(std::isnan(through<fp16>(nan)));
      CHECK(std::isnan(through<bf16>(nan)));
    }
  }
}

static_assert(fp16(1.5F).bits == 0x3e00 && static_cast<float>(fp16(-2.0F)) == -2);
static_assert(bf16(1.5F).bits == 0x3fc0 && static_cast<float>(bf16(-2.0F)) == -2);
static_assert(sizeof(fp16) == 2 && sizeof(bf16) == 2 && fp16().bits == 0 && bf16().bits == 0);
static_assert(std::same_as<accumulator_t<bf16>, float> && std::same_as<accumulator_t<fp16>, float> &&
              std::same_as<accumulator_t<float>, float> && std::same_as<accumulator_t<double>, double>);
static_assert(!ComputeType<int> && !ComputeType<long double>);

}  // namespace
}  // namespace triax
