// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Small matrices in vector registers.

#pragma once

#include <type_traits>
#include <utility>

#include <triax/kernels/vector.hpp>

namespace triax::simd {

/// Calls body(i) for i = 0, ..., N - 1 in straight-line code, so that arrays of vectors which it indexes stay
/// in registers; i is a std::integral_constant.
template <int N, class Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
  const auto calls = [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  };
  calls(std::make_integer_sequence<int, N>{});
}

namespace detail {
// Lanes First, First + 1, ... of two vectors in turn: of half a vector each.
template <int First, class V, int... I>
V interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int count = sizeof...(I);
#if defined(__CUDACC__)  // whose front end cannot expand a pack in the builtin
  V result;
  for (int i = 0; i < count; ++i) result[i] = (i % 2 == 0 ? a : b)[First + i / 2];
  return result;
#else
  return __builtin_shufflevector(a, b, (First + I / 2 + I % 2 * count)...);
#endif
}
}  // namespace detail

/// Transposes the square matrix whose rows are given.
template <class V, int N>
[[gnu::always_inline]] inline void transpose(V (&rows)[N]) {
  // Interleaving each row with the one half the matrix below it, log2(N) times, is a transposition.
  for (int step = 1; step < N; step *= 2) {
    V next[N];
    unrolled<N / 2>([&](auto i) __attribute__((always_inline)) {
      constexpr std::make_integer_sequence<int, N> lanes{};
      next[2 * i] = detail::interleave<0>(rows[i], rows[i + N / 2], lanes);
      next[2 * i + 1] = detail::interleave<N / 2>(rows[i], rows[i + N / 2], lanes);
    });
    unrolled<N>([&](auto i) __attribute__((always_inline)) { rows[i] = next[i]; });
  }
}

}  // namespace triax::simd
