// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The sum of squares of a gradient.

#pragma once

#include <bit>
#include <cstdint>

#include <triax/device/device.hpp>

namespace triax {

/// Adds the sum of squares of [values, values + size) to `*squares`, and how many elements are infinite or
/// NaN to `*infinite`.
///
/// Squares of floats and their sums stay far below the largest double, so the sum is finite exactly if every
/// element is; only then elements must be looked at one by one. Element i goes to lane i mod 16, and the
/// lanes are added as a balanced tree: the result does not depend on the address or the instruction set.
struct SumSquaresKernel {
  const float* values;
  std::int64_t size;
  double* squares;
  double* infinite;

  void operator()() const {
    constexpr int lanes = 16;
    double sums[lanes]{};
    std::int64_t i = 0;
    for (; i + lanes <= size; i += lanes)
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += square(values[i + lane]);
    for (int lane = 0; i + lane < size; ++lane) sums[lane] += square(values[i + lane]);
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    *squares += sums[0];
    constexpr std::uint64_t exponent = 0x7ff0000000000000U;
    if ((std::bit_cast<std::uint64_t>(sums[0]) & exponent) == exponent) *infinite += count_infinite();
  }

 private:
  static double square(float value) { return static_cast<double>(value) * static_cast<double>(value); }

  double count_infinite() const {
    constexpr std::uint32_t exponent = 0x7f800000U;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < size; ++i)
      count += (std::bit_cast<std::uint32_t>(values[i]) & exponent) == exponent ? 1 : 0;
    return static_cast<double>(count);
  }
};

/// Adds the sum of squares of `size` floats, computed in double, to `*squares` and the number of those that
/// are not finite to `*infinite`. All pointers are the device's. If an element is not finite, neither is
/// `*squares`.
template <class Device>
void accumulate_squares(Device& device, const float* values, std::int64_t size, double* squares,
                        double* infinite) {
  device.launch(SumSquaresKernel{values, size, squares, infinite},
                Cost{2.0 * static_cast<double>(size), 4.0 * static_cast<double>(size)});
}

}  // namespace triax
