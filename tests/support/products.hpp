// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Checks of matrix products that every library behind gemm must pass.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/gemm.hpp>

#include "support/guarded.hpp"
#include "support/numbers.hpp"

namespace triax::test {

struct ProductSizes {
  std::int64_t m, n, k;
};

/// Whole numbers of magnitude at most `bound`: sums of their products are exact, so products are compared
/// exactly.
inline std::vector<double> whole_numbers(std::int64_t count, std::uint64_t seed, int bound) {
  std::vector<double> values;
  for (const std::int32_t token : random_tokens(count, seed, 2 * bound + 1)) values.push_back(token - bound);
  return values;
}

/// op(a) op(b) by definition, added to c.
inline std::vector<double> product(const ProductSizes& s, const std::vector<double>& a, bool transpose_a,
                                   const std::vector<double>& b, bool transpose_b, std::vector<double> c) {
  const auto at = [](const std::vector<double>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t l = 0; l < s.k; ++l)
        c[static_cast<std::size_t>(i * s.n + j)] +=
            at(a, transpose_a ? l * s.m + i : i * s.k + l) * at(b, transpose_b ? j * s.k + l : l * s.n + j);
  return c;
}

/// All four transpositions of one size, with and without accumulation, in the given types.
template <class A, class B, class C>
void check_products(const ProductSizes& s, int bound = 2) {
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  Host host;
  for (int variant = 0; variant < 8; ++variant) {
    const bool transpose_a = (variant & 1) != 0, transpose_b = (variant & 2) != 0,
               accumulates = (variant & 4) != 0;
    CAPTURE(variant);
    const auto a = whole_numbers(s.m * s.k, 1, bound);
    const auto b = whole_numbers(s.k * s.n, 2, bound);
    const auto c = whole_numbers(s.m * s.n, 3, bound);
    const Guarded<A> left(transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}, a);
    const Guarded<B> right(transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n}, b);
    Guarded<C> result({s.m, s.n}, c);
    const auto multiply = [&](const auto& x, const auto& y) {
      accumulates ? gemm(host, x, y, result.tensor(), accumulate) : gemm(host, x, y, result.tensor());
    };
    if (transpose_a && transpose_b) multiply(transposed(left.view()), transposed(right.view()));
    if (transpose_a && !transpose_b) multiply(transposed(left.view()), right.view());
    if (!transpose_a && transpose_b) multiply(left.view(), transposed(right.view()));
    if (!transpose_a && !transpose_b) multiply(left.view(), right.view());
    const std::vector<double> start = accumulates ? c : std::vector<double>(c.size());
    CHECK(result.values() == product(s, a, transpose_a, b, transpose_b, start));
  }
}

}  // namespace triax::test
