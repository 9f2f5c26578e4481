// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Rows of tables, by token and by position.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include <triax/core/position.hpp>
#include <triax/kernels/operands.hpp>
#include <triax/kernels/tokens.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

template <ComputeType T>
struct EmbedKernel {
  const std::int32_t* ids;
  const T* table;
  const T* positions;  ///< null: none are learned
  T* y;
  std::int64_t sequences, tokens, width, vocabulary;
  Positions position;

  void operator()() const {
    for (std::int64_t place = 0; place < sequences * tokens; ++place) {
      const std::int32_t id = ids[place];
      if (id < 0 || id >= vocabulary) throw_out_of_range("number", id, place, vocabulary);
      const T* const row = table + id * width;
      T* const y_row = y + place * width;
      if (!positions) {
        std::memcpy(y_row, row, static_cast<std::size_t>(width) * sizeof(T));
        continue;
      }
      const T* const position_row = positions + position(place % tokens) * width;
      simd::for_each_vector<T>(width, [&](std::int64_t i, auto which) {
        simd::store(y_row + i, simd::load(row + i, which) + simd::load(position_row + i, which), which);
      });
    }
  }
};

/// y = table[ids] + positions[position of each token]. `ids` has shape {sequences, tokens}, `table`
/// {vocabulary, width}, `positions` {context, width}, or is null when positions are not learned.
///
/// Throws ShapeError for a number outside the vocabulary and for positions outside the context.
template <class Device, class P, ComputeType T>
void embed(Device& device, Tensor<const std::int32_t, Device> ids, Tensor<P, Device> table,
           Tensor<P, Device> positions, Tensor<T, Device> y, Positions position) {
  const std::int64_t tokens = ids.columns();
  if (positions && (position.first < 0 || position(tokens) > positions.rows()))
    throw ShapeError(
        "the micro-batch holds the positions " + std::to_string(position.first) + " to " +
        std::to_string(position(tokens) - 1) + ", but the embedding has learned positions for a context of " +
        std::to_string(positions.rows()) + " tokens; give it a longer context or cut the sequences");
  require_equal_size("embed", y.shape(),
                     ids.shape().rank() == 2 ? Shape{ids.size(), table.columns()} : Shape{});
  device.launch(
      EmbedKernel<T>{ids.data(), table.data(), positions.data(), y.data(), ids.rows(), tokens,
                     table.columns(), table.rows(), position},
      {positions ? static_cast<double>(y.size()) : 0.0, traffic(ids, y, y) + (positions ? traffic(y) : 0.0)});
}

template <ComputeType T>
struct EmbedGradientKernel {
  using Accumulator = accumulator_t<T>;

  const T* dy;
  const std::int32_t* ids;
  Accumulator* table_gradient;     ///< null: not wanted
  Accumulator* position_gradient;  ///< null: not wanted
  std::int64_t sequences, tokens, width;
  Positions position;

  // Rows are added in the order of the tokens, so the sums have the same bits every time.
  void operator()() const {
    for (std::int64_t place = 0; place < sequences * tokens; ++place) {
      const T* const dy_row = dy + place * width;
      if (table_gradient) add(dy_row, table_gradient + ids[place] * width);
      if (position_gradient) add(dy_row, position_gradient + position(place % tokens) * width);
    }
  }

 private:
  void add(const T* dy_row, Accumulator* sum) const {
    simd::for_each_vector<T>(width, [&](std::int64_t i, auto which) {
      simd::store(sum + i, simd::load(sum + i, which) + simd::load(dy_row + i, which), which);
    });
  }
};

/// Adds the gradient of embed to the accumulators of both tables; each may be null.
template <class Device, class D, class A>
void embed_gradient(Device& device, Tensor<D, Device> dy, Tensor<const std::int32_t, Device> ids,
                    Tensor<A, Device> table_gradient, Tensor<A, Device> position_gradient,
                    Positions position) {
  if (!table_gradient && !position_gradient) return;
  using T = typename Tensor<D, Device>::value_type;
  const double tables = (table_gradient ? 1 : 0) + (position_gradient ? 1 : 0);
  const double elements = static_cast<double>(dy.size());
  device.launch(EmbedGradientKernel<T>{dy.data(), ids.data(), table_gradient.data(), position_gradient.data(),
                                       ids.rows(), ids.columns(), dy.columns(), position},
                {tables * elements, traffic(dy, ids) + tables * 2 * elements * sizeof(A)});
}

}  // namespace triax
