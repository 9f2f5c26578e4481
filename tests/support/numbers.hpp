// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Numbers for tests: deterministic data, conversions and comparisons.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <triax/core/float16.hpp>
#include <triax/core/random.hpp>
#include <triax/core/tensor.hpp>
#include <triax/device/host.hpp>

namespace triax::test {

/// `value` rounded to T.
template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, fp16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// `value` as a double, exactly.
template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, fp16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
std::vector<T> rounded_to(const std::vector<double>& values) {
  std::vector<T> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), from_double<T>);
  return result;
}

template <class T>
std::vector<double> to_doubles(std::span<T> values) {
  std::vector<double> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), to_double<std::remove_const_t<T>>);
  return result;
}
template <class T>
std::vector<double> to_doubles(const std::vector<T>& values) {
  return to_doubles(std::span<const T>(values));
}

/// Writes `values` into `target`; their numbers of elements must agree, or the end of `target` stays as it
/// is.
template <class T>
void assign(std::span<T> target, const std::vector<double>& values) {
  std::transform(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), target.size())),
                 target.begin(), from_double<T>);
}

/// `count` numbers in [low, high), a function of `seed` alone. T is the type in which they are exact.
template <class T = float>
std::vector<double> random_values(std::int64_t count, std::uint64_t seed, double low = -1, double high = 1) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit = static_cast<double>(to_unit(philox(i, 0, seed)[0]));
    values[i] = to_double(from_double<T>(low + (high - low) * unit));
  }
  return values;
}

/// `count` whole numbers in [0, bound), a function of `seed` alone.
inline std::vector<std::int32_t> random_tokens(std::int64_t count, std::uint64_t seed, std::int32_t bound) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(random_below(static_cast<std::uint64_t>(bound), seed, i));
  return tokens;
}

/// A tensor of the elements of `data`, all of them unless a shape says otherwise.
template <class T>
Tensor<T, Host> tensor(std::vector<T>& data, const Shape& shape) {
  return {data.data(), shape};
}
template <class T>
Tensor<T, Host> tensor(std::vector<T>& data) {
  return {data.data(), {static_cast<std::int64_t>(data.size())}};
}

/// Whether two vectors hold the same bytes; also true for the same NaN.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// The largest |a - b| / (|b| + scale), where `scale` is the size below which errors count absolutely;
/// infinite if the sizes differ or a NaN is in either.
inline double worst_error(const std::vector<double>& a, const std::vector<double>& b, double scale = 1) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double error = std::abs(a[i] - b[i]) / (std::abs(b[i]) + scale);
    worst = error <= worst ? worst : std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

/// Half the distance between 1 and the next number of T: the relative error of one rounding.
template <class T>
constexpr double unit_roundoff() {
  if constexpr (std::is_same_v<T, double>) return 0x1p-53;
  if constexpr (std::is_same_v<T, float>) return 0x1p-24;
  if constexpr (std::is_same_v<T, fp16>) return 0x1p-11;
  return 0x1p-8;
}

/// A bound for the error of a result of T, relative to 1 + its size, when a few dozen operations of T's
/// arithmetic led to it.
template <class T>
constexpr double tolerance() {
  return unit_roundoff<T>() + 64 * unit_roundoff<accumulator_t<T>>();
}

}  // namespace triax::test
