// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// How attention cuts its work: the matrices of one head, blocks of queries, tiles of keys, and their scratch.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <triax/core/bytes.hpp>
#include <triax/core/error.hpp>
#include <triax/core/position.hpp>
#include <triax/core/shape.hpp>
#include <triax/device/host_gemm.hpp>
#include <triax/device/matrix.hpp>
#include <triax/device/staged_gemm.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

/// The sizes of a self-attention; `width` is that of one head.
struct AttentionSizes {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;

  /// {sequences, tokens, heads * width}, the shape of the output.
  Shape output() const { return {sequences, tokens, heads * width}; }
  /// {sequences, heads, tokens}, the shape of what the gradient needs of the softmax.
  Shape statistics() const { return {sequences, heads, tokens}; }
  /// By what scores are multiplied before the softmax.
  template <class A>
  A scale() const {
    return 1 / std::sqrt(static_cast<A>(width));
  }
  /// The pairs of a query and a key that it sees, over all heads and sequences.
  double pairs() const {
    return static_cast<double>(sequences * heads) * static_cast<double>(tokens) *
           static_cast<double>(tokens + 1) / 2;
  }
};

/// The sizes of attention on queries, keys and values {sequences, tokens, 3 * heads * width}. Throws
/// ShapeError when that is not their shape.
inline AttentionSizes attention_sizes(const Shape& qkv, std::int64_t heads) {
  if (qkv.rank() != 3 || heads <= 0 || qkv.columns() % (3 * heads) != 0)
    throw ShapeError("attention: queries, keys and values of shape " + to_string(qkv) + " do not fit " +
                     std::to_string(heads) + " heads; wanted are [sequences, tokens, 3 * heads * width]");
  return {qkv[0], qkv[1], heads, qkv.columns() / (3 * heads)};
}

namespace detail {

// Queries are taken in blocks of this many, so that a block's scores stay in the second-level cache, and keys
// in tiles of this many: 256 KiB of single-precision scores. The tile is a multiple of the block, so that the
// last tile of a block holds at least one key for each of its queries.
inline constexpr std::int64_t query_block = 64;
inline constexpr std::int64_t key_tile = 1024;

// Elements from one row of scores to the next: whole vectors.
template <ComputeType T>
std::int64_t tile_stride(const AttentionSizes& sizes) {
  const std::int64_t keys = sizes.tokens < key_tile ? sizes.tokens : key_tile;
  return static_cast<std::int64_t>(round_up(static_cast<std::size_t>(keys), 16));
}

// The tokens x width matrix of one head in a stream of heads * width features.
template <class T>
Matrix<T> head_matrix(T* stream, const AttentionSizes& sizes, std::int64_t sequence, std::int64_t head) {
  const std::int64_t features = sizes.heads * sizes.width;
  return {stream + sequence * sizes.tokens * features + head * sizes.width, sizes.tokens, sizes.width,
          features, false};
}

// The same in the fused stream of 3 * heads * width features.
template <class T>
struct HeadMatrices {
  Matrix<T> queries, keys, values;
};
template <class T>
HeadMatrices<T> head_matrices(T* qkv, const AttentionSizes& sizes, std::int64_t sequence, std::int64_t head) {
  const std::int64_t features = sizes.heads * sizes.width;
  T* const first = qkv + sequence * sizes.tokens * 3 * features + head * sizes.width;
  const auto part = [&](std::int64_t i) {
    return Matrix<T>{first + i * features, sizes.tokens, sizes.width, 3 * features, false};
  };
  return {part(0), part(1), part(2)};
}

// The queries [first, first + rows) and the keys [0, keys) that the last of them sees. What a query sees is
// decided by global positions.
class QueryBlock {
 public:
  QueryBlock(const AttentionSizes& sizes, Positions positions, std::int64_t first)
      : rows(smaller(query_block, sizes.tokens - first)),
        keys(smaller(sizes.tokens, positions(first + rows - 1) - positions(0) + 1)),
        first_seen_(positions(first) - positions(0) + 1) {}

  std::int64_t rows;
  std::int64_t keys;

  std::int64_t keys_in_tile(std::int64_t first_key) const { return smaller(key_tile, keys - first_key); }
  // How many keys of the tile of `count` keys from `first_key` are seen by the query in `row`: at least one.
  std::int64_t visible(std::int64_t row, std::int64_t first_key, std::int64_t count) const {
    return smaller(count, first_seen_ + row - first_key);
  }

 private:
  static std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }

  std::int64_t first_seen_;
};

// Hands out scratch for one head, and copies of 16-bit matrices in it; matrices of accumulators are used
// where they are.
template <class A>
class FloatScratch {
 public:
  explicit FloatScratch(A* memory) : next_(memory) {}

  A* take(std::int64_t rows, std::int64_t columns) {
    A* const memory = next_;
    next_ += rows * columns;
    return memory;
  }
  // The elements of `m`, for reading.
  template <class T>
  Matrix<const A> accumulators(Matrix<T> m) {
    if constexpr (std::is_same_v<const T, const A>) {
      return m;
    } else {
      const Matrix<A> copy = accumulator_space(m);
      convert(m, copy);
      return copy;
    }
  }
  // Where the elements of `m` are computed before write_back.
  template <class T>
  Matrix<A> accumulator_space(const Matrix<T>& m) {
    if constexpr (std::is_same_v<T, A>) {
      return m;
    } else {
      return {take(m.rows, m.columns), m.rows, m.columns, m.columns, false};
    }
  }
  template <class T>
  void write_back(const Matrix<A>& from, const Matrix<T>& to) {
    if constexpr (!std::is_same_v<T, A>) convert(from, to);
  }

 private:
  A* next_;
};

template <class A>
void scale_row(A* row, std::int64_t size, A factor) {
  simd::for_each_vector<A>(size, [&](std::int64_t i, auto which) {
    simd::store(row + i, simd::load(row + i, which) * factor, which);
  });
}

template <class A>
A dot(const A* x, const A* y, std::int64_t size) {
  simd::Vector<A> sums{};
  simd::for_each_vector<A>(
      size, [&](std::int64_t i, auto which) { sums += simd::load(x + i, which) * simd::load(y + i, which); });
  return simd::sum(sums);
}

}  // namespace detail
}  // namespace triax
