// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product for programs without a BLAS.

#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include <triax/core/float16.hpp>
#include <triax/device/matrix.hpp>
#include <triax/kernels/transpose.hpp>
#include <triax/kernels/vector.hpp>

namespace triax::detail {

// Blocks of the algorithm of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
// TOMS 34 (3), 2008: a tile of c is held in registers while it runs over packed panels of a and b, which lie
// in the caches.
//
// Every element of c is summed over the inner dimension in one order that depends on its length alone, so a
// row of c is the same bits however the rows are cut, one row included.
template <class T>
class BuiltinGemm {
 public:
  static void multiply(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate) {
    Panels& panels = thread_panels();
    for (std::int64_t column = 0; column < c.columns; column += columns_at_once) {
      const std::int64_t columns = smaller(columns_at_once, c.columns - column);
      for (std::int64_t inner = 0; inner < a.columns; inner += depth_at_once) {
        const std::int64_t depth = smaller(depth_at_once, a.columns - inner);
        pack<tile_columns>(b.block(inner, column, depth, columns).transpose(), panels.b);
        for (std::int64_t row = 0; row < c.rows; row += rows_at_once) {
          const std::int64_t rows = smaller(rows_at_once, c.rows - row);
          pack<tile_rows>(a.block(row, inner, rows, depth), panels.a);
          multiply_panels(depth, panels, c.block(row, column, rows, columns), accumulate || inner > 0);
        }
      }
    }
  }

 private:
  using V = simd::Vector<T>;
  static constexpr int lanes = simd::lanes<T>;
  // As many accumulators as leave registers for one row of b and one element of a: 32 registers or 16.
  static constexpr int tile_rows = simd::vector_bytes == 64 ? 14 : 6;
  static constexpr int tile_columns = 2 * lanes;
  static constexpr std::int64_t depth_at_once = 256;
  static constexpr std::int64_t rows_at_once = 8 * tile_rows;
  static constexpr std::int64_t columns_at_once = 1536;

  struct Panels {
    alignas(64) T a[rows_at_once * depth_at_once + lanes];  // the last vector of a panel may end behind it
    alignas(64) T b[columns_at_once * depth_at_once];
  };
  // Allocated at a thread's first product and kept.
  static Panels& thread_panels() {
    static thread_local const std::unique_ptr<Panels> panels(new Panels);
    return *panels;
  }

  static constexpr std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }

  // Copies m to panels of `Height` rows, each column by column; the last panel is filled up with zeros. What
  // a vector writes past a column's end, the next column or panel overwrites.
  template <int Height>
  static void pack(Matrix<const T> m, T* panel) {
    for (std::int64_t top = 0; top < m.rows; top += Height, panel += Height * m.columns) {
      const int height = static_cast<int>(smaller(Height, m.rows - top));
      if (m.transposed) {
        pack_columns<Height>(m.at(top, 0), m.stride, height, m.columns, panel);
      } else {
        pack_rows<Height>(m.at(top, 0), m.stride, height, m.columns, panel);
      }
    }
  }

  // A panel whose columns are contiguous in the matrix.
  template <int Height>
  static void pack_columns(const T* source, std::int64_t stride, int height, std::int64_t columns, T* panel) {
    for (std::int64_t k = 0; k < columns; ++k, source += stride, panel += Height) {
      if (height == Height) {
        std::memcpy(panel, source, Height * sizeof(T));
      } else {
        for (int i = 0; i < Height; ++i) panel[i] = i < height ? source[i] : T{};
      }
    }
  }

  // A panel whose rows are contiguous in the matrix: squares of it are transposed in registers.
  template <int Height>
  static void pack_rows(const T* source, std::int64_t stride, int height, std::int64_t columns, T* panel) {
    constexpr int squares = (Height + lanes - 1) / lanes;
    std::int64_t k = 0;
    for (; k + lanes <= columns; k += lanes) {
      V square[squares][lanes];
      for (int s = 0; s < squares; ++s) {
        for (int i = 0; i < lanes; ++i)
          square[s][i] = s * lanes + i < height ? simd::load(source + (s * lanes + i) * stride + k) : V{};
        simd::transpose(square[s]);
      }
      for (int i = 0; i < lanes; ++i)
        for (int s = 0; s < squares; ++s) simd::store(panel + (k + i) * Height + s * lanes, square[s][i]);
    }
    for (; k < columns; ++k)
      for (int i = 0; i < Height; ++i) panel[k * Height + i] = i < height ? source[i * stride + k] : T{};
  }

  static void multiply_panels(std::int64_t depth, const Panels& panels, Matrix<T> c, bool accumulate) {
    for (std::int64_t column = 0; column < c.columns; column += tile_columns) {
      for (std::int64_t row = 0; row < c.rows; row += tile_rows) {
        const Matrix<T> tile =
            c.block(row, column, smaller(tile_rows, c.rows - row), smaller(tile_columns, c.columns - column));
        multiply_tile(depth, panels.a + row * depth, panels.b + column * depth, tile, accumulate);
      }
    }
  }

  static void multiply_tile(std::int64_t depth, const T* a, const T* b, Matrix<T> c, bool accumulate) {
    V sums[tile_rows][2]{};
    for (std::int64_t k = 0; k < depth; ++k, a += tile_rows, b += tile_columns) {
      const V left = simd::load(b);
      const V right = simd::load(b + lanes);
      simd::unrolled<tile_rows>([&](auto i) __attribute__((always_inline)) {
        const V factor = simd::broadcast(a[i]);
        sums[i][0] = simd::multiply_add(factor, left, sums[i][0]);
        sums[i][1] = simd::multiply_add(factor, right, sums[i][1]);
      });
    }
    if (c.rows == tile_rows && c.columns == tile_columns) {
      simd::unrolled<tile_rows>([&](auto i) __attribute__((always_inline)) {
        T* const row = c.at(i, 0);
        simd::store(row, accumulate ? simd::load(row) + sums[i][0] : sums[i][0]);
        simd::store(row + lanes, accumulate ? simd::load(row + lanes) + sums[i][1] : sums[i][1]);
      });
    } else {
      T values[tile_rows][tile_columns];
      simd::unrolled<tile_rows>([&](auto i) __attribute__((always_inline)) {
        simd::store(values[i], sums[i][0]);
        simd::store(values[i] + lanes, sums[i][1]);
      });
      for (int i = 0; i < c.rows; ++i)
        for (int j = 0; j < c.columns; ++j)
          *c.at(i, j) = accumulate ? *c.at(i, j) + values[i][j] : values[i][j];
    }
  }
};

}  // namespace triax::detail
