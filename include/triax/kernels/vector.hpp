// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Vectors of floating-point numbers for the kernels of the host.
//
// Kernels use vectors explicitly because their results must not depend on what a compiler makes of a loop:
// sums run in lanes of a fixed number and are added in a fixed order, whatever the address. The number of
// lanes follows the instruction set for which the program is compiled, since wider vectors are lowered badly.
// Only the compilers' own vector types are used; they need no intrinsics header.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <triax/core/float16.hpp>

namespace triax::simd {

/// The bytes of a vector register.
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

/// N lanes of the arithmetic type E.
template <class E, int N>
struct LanesOf {
  typedef E type __attribute__((vector_size(static_cast<int>(sizeof(E)) * N)));
};
template <class E, int N>
using Lanes = typename LanesOf<E, N>::type;

/// The number of elements of type T that a vector computes at once.
template <ComputeType T>
inline constexpr int lanes = vector_bytes / static_cast<int>(sizeof(accumulator_t<T>));

/// The vector in which elements of type T are computed: of doubles for double, else of floats. The operators
/// of the language work lane by lane, also with a scalar on one side; comparisons make masks for `?:`.
template <ComputeType T>
using Vector = Lanes<accumulator_t<T>, lanes<T>>;

/// Which lanes a load or store touches: all of them, or the first `count` at the end of a row.
struct All {};
struct First {
  int count = 0;
};

/// `value` in every lane.
inline Vector<float> broadcast(float value) { return value - Vector<float>{}; }
inline Vector<double> broadcast(double value) { return value - Vector<double>{}; }

/// Elements [p, p + lanes<T>), from any address; 16-bit elements are widened exactly.
inline Vector<float> load(const float* p, All = {}) {
  Vector<float> x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline Vector<double> load(const double* p, All = {}) {
  Vector<double> x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

namespace detail {
using Words = Lanes<std::uint32_t, lanes<float>>;
using HalfWords = Lanes<std::uint16_t, lanes<float>>;

inline Words load_words(const void* p) {
  HalfWords x;
  std::memcpy(&x, p, sizeof x);
  return __builtin_convertvector(x, Words);
}
inline void store_words(void* p, Words words) {
  const HalfWords x = __builtin_convertvector(words, HalfWords);
  std::memcpy(p, &x, sizeof x);
}
inline Words bits(Vector<float> x) { return std::bit_cast<Words>(x); }
inline Vector<float> number(Words bits) { return std::bit_cast<Vector<float>>(bits); }
}  // namespace detail

inline Vector<float> load(const bf16* p, All = {}) { return detail::number(detail::load_words(p) << 16); }
/// The method of fp16::operator float, lane by lane.
inline Vector<float> load(const fp16* p, All = {}) {
  const auto half = detail::load_words(p);
  const auto magnitude = (half & 0x7fffU) << 13;
  const auto scaled = detail::bits(detail::number(magnitude) * 0x1p112F);
  const auto special = (half & 0x7c00U) == 0x7c00U ? magnitude | 0x7f800000U : scaled;
  return detail::number((half & 0x8000U) << 16 | special);
}

/// Writes all lanes to [p, p + lanes<T>); 16-bit elements are rounded as their constructors do.
inline void store(float* p, Vector<float> x, All = {}) { std::memcpy(p, &x, sizeof x); }
inline void store(double* p, Vector<double> x, All = {}) { std::memcpy(p, &x, sizeof x); }
inline void store(bf16* p, Vector<float> x, All = {}) {
  const auto u = detail::bits(x);
  const auto rounded = (u + 0x7fffU + ((u >> 16) & 1U)) >> 16;
  const auto quiet_nan = (u >> 16) | 0x40U;
  detail::store_words(p, (u & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}
inline void store(fp16* p, Vector<float> x, All = {}) {
  const auto u = detail::bits(x);
  const auto magnitude = u & 0x7fffffffU;
  const auto subnormal = detail::bits(detail::number(magnitude) + 0.5F) - 0x3f000000U;
  const auto normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const auto finite = magnitude < (113U << 23) ? subnormal : normal;
  const auto infinity = magnitude < 0x477ff000U ? finite : finite * 0 + 0x7c00U;
  const auto rounded = magnitude > 0x7f800000U ? infinity * 0 + 0x7e00U : infinity;
  detail::store_words(p, ((u >> 16) & 0x8000U) | rounded);
}

/// The first lanes only: the others load as zero and are not stored.
template <ComputeType T>
Vector<T> load(const T* p, First first) {
  T padded[lanes<T>]{};
  for (int i = 0; i < first.count; ++i) padded[i] = p[i];
  return load(padded);
}
template <ComputeType T>
void store(T* p, Vector<T> x, First first) {
  T padded[lanes<T>];
  store(padded, x);
  for (int i = 0; i < first.count; ++i) p[i] = padded[i];
}

/// Calls body(i, All{}) for i = 0, lanes, 2 * lanes, ... and body(i, First{rest}) for what is left of
/// `count`.
template <ComputeType T, class Body>
void for_each_vector(std::int64_t count, const Body& body) {
  std::int64_t i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) body(i, All{});
  if (i < count) body(i, First{static_cast<int>(count - i)});
}

/// a * b + c with one rounding where the instruction set has it, independent of the compiler's contraction
/// flags.
template <class V>
[[gnu::always_inline]] inline V multiply_add(V a, V b, V c) {
#if defined(__FMA__)
  V result;
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(a[0])); ++i) result[i] = std::fma(a[i], b[i], c[i]);
  return result;
#else
  return a * b + c;
#endif
}

/// The larger or smaller value per lane. A NaN in `b` is kept.
template <class V>
V maximum(V a, V b) {
  return a > b ? a : b;
}
template <class V>
V minimum(V a, V b) {
  return a < b ? a : b;
}

namespace detail {
template <class E, int N>
struct Halves {
  Lanes<E, N / 2> low, high;
};

// Reduces the lanes as a balanced tree: half of them are combined with the other half, and so on.
template <class E, int N, class Combine>
E reduce(Lanes<E, N> x, Combine combine) {
  const auto halves = std::bit_cast<Halves<E, N>>(x);
  if constexpr (N == 2) {
    return combine(halves.low, halves.high)[0];
  } else {
    return reduce<E, N / 2>(combine(halves.low, halves.high), combine);
  }
}
struct Add {
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
};
struct Larger {
  template <class V>
  V operator()(V a, V b) const {
    return maximum(a, b);
  }
};
}  // namespace detail

/// The sum of all lanes, added as a balanced tree.
inline float sum(Vector<float> x) { return detail::reduce<float, lanes<float>>(x, detail::Add{}); }
inline double sum(Vector<double> x) { return detail::reduce<double, lanes<double>>(x, detail::Add{}); }
/// The largest lane.
inline float largest(Vector<float> x) { return detail::reduce<float, lanes<float>>(x, detail::Larger{}); }
inline double largest(Vector<double> x) { return detail::reduce<double, lanes<double>>(x, detail::Larger{}); }

}  // namespace triax::simd
