// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Reductions over a row, in lanes of a fixed number and in a fixed order.

#pragma once

#include <cstdint>
#include <limits>

#include <triax/kernels/vector.hpp>

namespace triax::simd {

namespace detail {

// `x` in the lanes that `which` names and `value` in the others.
template <class V, class E>
V within(V x, All, E) {
  return x;
}
template <class V, class E>
V within(V x, First first, E value) {
  constexpr int count = static_cast<int>(sizeof(V) / sizeof(E));
  for (int i = first.count; i < count; ++i) x[i] = value;
  return x;
}

}  // namespace detail

/// The sum of term(i, which) over the vectors of a row of elements of type T, counted as for_each_vector
/// does. Lanes beyond the end of the row do not count, whatever the term makes of them.
template <ComputeType T, class Term>
accumulator_t<T> row_sum(std::int64_t columns, const Term& term) {
  constexpr int group = 4;  // as many additions are under way at once as the processor can overlap
  Vector<T> sums[group]{};
  std::int64_t i = 0;
  for (; i + group * lanes<T> <= columns; i += group * lanes<T>)
    for (int k = 0; k < group; ++k) sums[k] += term(i + k * lanes<T>, All{});
  for_each_vector<T>(columns - i, [&](std::int64_t rest, auto which) {
    sums[0] += detail::within(term(i + rest, which), which, accumulator_t<T>{});
  });
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// The largest element of a row; -infinity for an empty one. A NaN may be passed over.
template <ComputeType T>
accumulator_t<T> row_largest(const T* row, std::int64_t columns) {
  constexpr auto least = -std::numeric_limits<accumulator_t<T>>::infinity();
  Vector<T> maxima = broadcast(least);
  for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
    maxima = maximum(maxima, detail::within(load(row + i, which), which, least));
  });
  return largest(maxima);
}

}  // namespace triax::simd
