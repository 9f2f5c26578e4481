// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Causal self-attention on the fused stream of queries, keys and values.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include <triax/core/position.hpp>
#include <triax/kernels/attention_tiles.hpp>
#include <triax/kernels/exponential.hpp>
#include <triax/kernels/operands.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

/// softmax(q k^T / sqrt(width) + causal mask) v of each head: Vaswani et al., "Attention is all you need",
/// 2017, equation 1. Computed by tiles, so that no score outlives its tile. Where all keys of a block of
/// queries fit into one tile the softmax is the plain one; otherwise the maximum and the sum are carried from
/// tile to tile, as in Dao et al., "FlashAttention", 2022, algorithm 1.
template <ComputeType T>
struct AttentionKernel {
  using A = accumulator_t<T>;

  const T* qkv;
  T* output;
  A* logsumexp;
  A* scratch;
  AttentionSizes sizes;
  Positions positions;

  void operator()() const {
    for (std::int64_t sequence = 0; sequence < sizes.sequences; ++sequence)
      for (std::int64_t head = 0; head < sizes.heads; ++head) attend(sequence, head);
  }

 private:
  void attend(std::int64_t sequence, std::int64_t head) const {
    using detail::query_block;
    const std::int64_t width = sizes.width;
    detail::FloatScratch<A> memory{scratch};
    A* const scores = memory.take(query_block, detail::tile_stride<T>(sizes));
    const auto fused = detail::head_matrices(qkv, sizes, sequence, head);
    const Matrix<const A> queries = memory.accumulators(fused.queries);
    const Matrix<const A> keys = memory.accumulators(fused.keys);
    const Matrix<const A> values = memory.accumulators(fused.values);
    const Matrix<T> result = detail::head_matrix(output, sizes, sequence, head);
    A* const logsumexps = logsumexp + (sequence * sizes.heads + head) * sizes.tokens;

    for (std::int64_t first = 0; first < sizes.tokens; first += query_block) {
      const detail::QueryBlock block(sizes, positions, first);
      const Matrix<T> target = result.block(first, 0, block.rows, width);
      detail::FloatScratch<A> block_memory = memory;
      const Matrix<A> sum = block_memory.accumulator_space(target);
      SoftmaxState state;
      for (std::int64_t key = 0; key < block.keys; key += detail::key_tile) {
        const std::int64_t count = block.keys_in_tile(key);
        const Matrix<A> tile{scores, block.rows, count, detail::tile_stride<T>(sizes), false};
        host_gemm(queries.block(first, 0, block.rows, width), keys.block(key, 0, count, width).transpose(),
                  tile, false);
        for (std::int64_t row = 0; row < block.rows; ++row)
          update(tile.at(row, 0), block.visible(row, key, count), count, key > 0, state, row, sum);
        host_gemm(tile, values.block(key, 0, count, width), sum, key > 0);
      }
      finish(state, sum, logsumexps + first);
      block_memory.write_back(sum, target);
    }
  }

  // The running maximum of each row's scores, and the sum of exp((score - maximum) * scale).
  struct SoftmaxState {
    A maximum[detail::query_block];
    A sum[detail::query_block];
  };

  // Replaces the first `visible` of a row's scores by exp((score - maximum) * scale), the others by 0.
  void update(A* scores, std::int64_t visible, std::int64_t count, bool carried, SoftmaxState& state,
              std::int64_t row, const Matrix<A>& result) const {
    constexpr int lanes = simd::lanes<T>;
    const A scale = sizes.scale<A>();
    std::int64_t end = visible;
    while (end % lanes != 0) scores[end++] = -INFINITY;

    auto maxima = simd::broadcast(static_cast<A>(-INFINITY));
    for (std::int64_t i = 0; i < end; i += lanes) maxima = simd::maximum(maxima, simd::load(scores + i));
    A maximum = simd::largest(maxima);
    if (carried && state.maximum[row] > maximum) maximum = state.maximum[row];

    simd::Vector<T> sums{};
    for (std::int64_t i = 0; i < end; i += lanes) {
      const auto power = simd::exp((simd::load(scores + i) - maximum) * scale);
      sums += power;
      simd::store(scores + i, power);
    }
    for (std::int64_t i = end; i < count; ++i) scores[i] = 0;

    A sum = simd::sum(sums);
    if (carried) {
      const A factor = std::exp((state.maximum[row] - maximum) * scale);
      sum += state.sum[row] * factor;
      detail::scale_row(result.at(row, 0), sizes.width, factor);
    }
    state.maximum[row] = maximum;
    state.sum[row] = sum;
  }

  void finish(const SoftmaxState& state, const Matrix<A>& result, A* logsumexps) const {
    for (std::int64_t row = 0; row < result.rows; ++row) {
      detail::scale_row(result.at(row, 0), sizes.width, 1 / state.sum[row]);
      logsumexps[row] = state.maximum[row] * sizes.scale<A>() + std::log(state.sum[row]);
    }
  }
};

/// The gradient of AttentionKernel. The probabilities are computed again from the scores and their logsumexp,
/// so that nothing of size tokens^2 is stored.
///
/// With p the probabilities, do the gradient of the output o and delta the row sums of o do: dv = p^T do, ds
/// = p (do v^T - delta) / sqrt(width), dq = ds k, dk = ds^T q (Dao et al., algorithm 4).
template <ComputeType T>
struct AttentionGradientKernel {
  using A = accumulator_t<T>;

  const T* qkv;
  const T* output;
  const A* logsumexp;
  const T* d_output;
  T* d_qkv;
  A* scratch;
  AttentionSizes sizes;
  Positions positions;

  void operator()() const {
    for (std::int64_t sequence = 0; sequence < sizes.sequences; ++sequence)
      for (std::int64_t head = 0; head < sizes.heads; ++head) differentiate(sequence, head);
  }

 private:
  void differentiate(std::int64_t sequence, std::int64_t head) const {
    using detail::query_block;
    const std::int64_t width = sizes.width, stride = detail::tile_stride<T>(sizes);
    detail::FloatScratch<A> memory{scratch};
    A* const probabilities = memory.take(query_block, stride);
    A* const d_scores = memory.take(query_block, stride);
    const auto fused = detail::head_matrices(qkv, sizes, sequence, head);
    const Matrix<const A> queries = memory.accumulators(fused.queries);
    const Matrix<const A> keys = memory.accumulators(fused.keys);
    const Matrix<const A> values = memory.accumulators(fused.values);
    const Matrix<const A> out = memory.accumulators(detail::head_matrix(output, sizes, sequence, head));
    const Matrix<const A> d_out = memory.accumulators(detail::head_matrix(d_output, sizes, sequence, head));
    const auto d_fused = detail::head_matrices(d_qkv, sizes, sequence, head);
    const Matrix<A> d_queries = memory.accumulator_space(d_fused.queries);
    const Matrix<A> d_keys = memory.accumulator_space(d_fused.keys);
    const Matrix<A> d_values = memory.accumulator_space(d_fused.values);
    const A* const logsumexps = logsumexp + (sequence * sizes.heads + head) * sizes.tokens;

    // From the last block to the first: the last one sees every key and so writes all of d_keys and d_values;
    // the others add to them.
    const std::int64_t last = (sizes.tokens - 1) / query_block * query_block;
    for (std::int64_t first = last; first >= 0; first -= query_block) {
      const detail::QueryBlock block(sizes, positions, first);
      const Matrix<const A> query = queries.block(first, 0, block.rows, width);
      const Matrix<const A> d_result = d_out.block(first, 0, block.rows, width);
      A deltas[query_block];
      for (std::int64_t row = 0; row < block.rows; ++row)
        deltas[row] = detail::dot(out.at(first + row, 0), d_result.at(row, 0), width);
      for (std::int64_t key = 0; key < block.keys; key += detail::key_tile) {
        const std::int64_t count = block.keys_in_tile(key);
        const Matrix<A> p{probabilities, block.rows, count, stride, false};
        const Matrix<A> ds{d_scores, block.rows, count, stride, false};
        host_gemm(query, keys.block(key, 0, count, width).transpose(), p, false);
        host_gemm(d_result, values.block(key, 0, count, width).transpose(), ds, false);
        for (std::int64_t row = 0; row < block.rows; ++row)
          differentiate_row(p.at(row, 0), ds.at(row, 0), block.visible(row, key, count), count,
                            logsumexps[first + row], deltas[row]);
        host_gemm(p.transpose(), d_result, d_values.block(key, 0, count, width), first < last);
        host_gemm(ds.transpose(), query, d_keys.block(key, 0, count, width), first < last);
        host_gemm(ds, keys.block(key, 0, count, width), d_queries.block(first, 0, block.rows, width),
                  key > 0);
      }
    }
    memory.write_back(d_queries, d_fused.queries);
    memory.write_back(d_keys, d_fused.keys);
    memory.write_back(d_values, d_fused.values);
  }

  // Turns a row of scores into probabilities, and the probabilities' gradients into those of the scores.
  void differentiate_row(A* scores, A* gradients, std::int64_t visible, std::int64_t count, A row_logsumexp,
                         A delta) const {
    constexpr int lanes = simd::lanes<T>;
    const A scale = sizes.scale<A>();
    for (std::int64_t i = 0; i < visible; i += lanes) {
      const auto p = simd::exp(simd::load(scores + i) * scale - row_logsumexp);
      simd::store(scores + i, p);
      simd::store(gradients + i, p * (simd::load(gradients + i) - delta) * scale);
    }
    for (std::int64_t i = visible; i < count; ++i) scores[i] = gradients[i] = 0;
  }
};

/// The shape of the scratch that attention needs, in the accumulator's type: bounded by a tile, and for
/// 16-bit types by one head's matrices.
template <ComputeType T>
Shape attention_scratch(const AttentionSizes& sizes) {
  const std::int64_t copies = detail::is_staged<T> ? 3 * sizes.tokens + detail::query_block : 0;
  return {detail::query_block * detail::tile_stride<T>(sizes) + copies * sizes.width};
}
/// The same for attention_gradient.
template <ComputeType T>
Shape attention_gradient_scratch(const AttentionSizes& sizes) {
  const std::int64_t copies = detail::is_staged<T> ? 8 * sizes.tokens : 0;
  return {2 * detail::query_block * detail::tile_stride<T>(sizes) + copies * sizes.width};
}

/// output = causal attention of qkv {sequences, tokens, 3 * heads * width}, in which the queries of all heads
/// come first, then the keys, then the values. `output` is {sequences, tokens, heads * width}; `logsumexp`
/// {sequences, heads, tokens} is what the gradient needs of the softmax; `scratch` has the shape
/// attention_scratch. Throws ShapeError.
template <class Device, class X, ComputeType T, class A>
void attention(Device& device, Tensor<X, Device> qkv, Tensor<T, Device> output, Tensor<A, Device> logsumexp,
               Tensor<A, Device> scratch, const AttentionSizes& sizes, Positions positions) {
  require_equal_size("attention", output.shape(), sizes.output());
  require_equal_size("attention", logsumexp.shape(), sizes.statistics());
  require_equal_size("attention", scratch.shape(), attention_scratch<T>(sizes));
  device.launch(
      AttentionKernel<T>{qkv.data(), output.data(), logsumexp.data(), scratch.data(), sizes, positions},
      {4 * sizes.pairs() * static_cast<double>(sizes.width), traffic(qkv, output, logsumexp), true});
}

/// d_qkv = the gradient of `attention`, from its result and the gradient of that; `scratch` has the shape
/// attention_gradient_scratch. The cost leaves the recomputed scores out, as model FLOPs do. Throws
/// ShapeError.
template <class Device, class X, class Y, class D, ComputeType T, class A>
void attention_gradient(Device& device, Tensor<X, Device> qkv, Tensor<Y, Device> output,
                        Tensor<A, Device> logsumexp, Tensor<D, Device> d_output, Tensor<T, Device> d_qkv,
                        Tensor<A, Device> scratch, const AttentionSizes& sizes, Positions positions) {
  require_equal_size("attention_gradient", output.shape(), sizes.output());
  require_equal_size("attention_gradient", d_output.shape(), sizes.output());
  require_equal_size("attention_gradient", d_qkv.shape(), qkv.shape());
  require_equal_size("attention_gradient", scratch.shape(), attention_gradient_scratch<T>(sizes));
  device.launch(AttentionGradientKernel<T>{qkv.data(), output.data(), logsumexp.data(), d_output.data(),
                                           d_qkv.data(), scratch.data(), sizes, positions},
                {8 * sizes.pairs() * static_cast<double>(sizes.width),
                 traffic(qkv, output, logsumexp, d_output, d_qkv), true});
}

}  // namespace triax
