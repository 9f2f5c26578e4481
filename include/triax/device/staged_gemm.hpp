// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The product of matrices of which some have 16-bit elements: blocks are converted to float and multiplied
// there.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <triax/core/bytes.hpp>
#include <triax/core/float16.hpp>
#include <triax/device/host_gemm.hpp>
#include <triax/device/matrix.hpp>
#include <triax/kernels/vector.hpp>

namespace triax::detail {

// Blocks of at most this extent: large enough that the conversions are a few per cent of the products, small
// enough that the workspace stays below 3 MiB.
inline constexpr std::int64_t staged_extent = 512;

// The extent of the blocks into which `extent` is cut: as equal as can be, so that no block is a single row.
constexpr std::int64_t staged_block(std::int64_t extent) {
  const std::int64_t parts = (extent + staged_extent - 1) / staged_extent;
  return parts == 0 ? 0 : (extent + parts - 1) / parts;
}
// Floats that hold a staged block; blocks start on 64-byte boundaries.
constexpr std::int64_t staged_size(std::int64_t rows, std::int64_t columns) {
  const std::int64_t size = staged_block(rows) * staged_block(columns);
  return static_cast<std::int64_t>(round_up(static_cast<std::size_t>(size), 16));
}

template <class T>
inline constexpr bool is_staged = sizeof(T) < sizeof(float);

// The workspace of a product of an m x k and a k x n matrix; 0 if no operand has 16-bit elements.
template <class A, class B, class C>
constexpr std::size_t staging_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t floats = (is_staged<A> ? staged_size(m, k) : 0) +
                              (is_staged<B> ? staged_size(k, n) : 0) + (is_staged<C> ? staged_size(m, n) : 0);
  return static_cast<std::size_t>(floats) * sizeof(float);
}

// Copies between equally large matrices of one orientation, converting the elements.
template <class From, class To>
void convert(const Matrix<From>& from, const Matrix<To>& to) {
  const std::int64_t runs = from.transposed ? from.columns : from.rows;
  const std::int64_t length = from.transposed ? from.rows : from.columns;
  for (std::int64_t run = 0; run < runs; ++run) {
    simd::for_each_vector<float>(length, [&](std::int64_t i, auto which) {
      simd::store(to.data + run * to.stride + i, simd::load(from.data + run * from.stride + i, which), which);
    });
  }
}

// `m` itself if it holds floats, else its copy in `staging`, with contiguous runs.
template <class T>
Matrix<const float> staged(Matrix<const T> m, float* staging) {
  if constexpr (is_staged<T>) {
    const Matrix<float> copy{staging, m.rows, m.columns, m.transposed ? m.rows : m.columns, m.transposed};
    convert(m, copy);
    return copy;
  } else {
    return m;
  }
}

// c = a b, or c += a b. `staging` holds staging_bytes<A, B, C>(m, n, k).
template <class A, class B, class C>
void staged_gemm(Matrix<const A> a, Matrix<const B> b, Matrix<C> c, bool accumulate, float* staging) {
  const std::int64_t m = c.rows, n = c.columns, k = a.columns;
  float* const staging_b = staging + (is_staged<A> ? staged_size(m, k) : 0);
  float* const staging_c = staging_b + (is_staged<B> ? staged_size(k, n) : 0);
  const std::int64_t rows = staged_block(m), columns = staged_block(n), depth = staged_block(k);
  const auto rest = [](std::int64_t block, std::int64_t left) { return block < left ? block : left; };

  for (std::int64_t row = 0; row < m; row += rows) {
    for (std::int64_t column = 0; column < n; column += columns) {
      const Matrix<C> target = c.block(row, column, rest(rows, m - row), rest(columns, n - column));
      Matrix<float> sum{staging_c, target.rows, target.columns, target.columns, false};
      if constexpr (!is_staged<C>) {
        sum = target;
      } else if (accumulate) {
        convert(target, sum);
      }
      std::int64_t inner = 0;
      do {  // once even if k is 0, when the product is zero
        const std::int64_t length = rest(depth, k - inner);
        host_gemm(staged(a.block(row, inner, target.rows, length), staging),
                  staged(b.block(inner, column, length, target.columns), staging_b), sum,
                  accumulate || inner > 0);
        inner += depth;
      } while (inner < k);
      if constexpr (is_staged<C>) convert(sum, target);
    }
  }
}

}  // namespace triax::detail
