// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A strided matrix in memory, as products take it.

#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace triax {

/// A view of a matrix whose rows (columns, if `transposed`) are contiguous. `rows` and `columns` are those of
/// the matrix that a product sees, after the transposition.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  ///< elements from one contiguous run to the next
  bool transposed = false;

  constexpr T* at(std::int64_t row, std::int64_t column) const {
    return transposed ? data + column * stride + row : data + row * stride + column;
  }
  /// The part of `rows` x `columns` elements whose first one is (row, column).
  constexpr Matrix block(std::int64_t row, std::int64_t column, std::int64_t row_count,
                         std::int64_t column_count) const {
    return {at(row, column), row_count, column_count, stride, transposed};
  }
  /// Element (i, j) is element (j, i) of this.
  constexpr Matrix transpose() const { return {data, columns, rows, stride, !transposed}; }

  template <std::same_as<const T> U>
    requires(!std::is_const_v<T>)
  constexpr operator Matrix<U>() const {
    return {data, rows, columns, stride, transposed};
  }
};

}  // namespace triax
