// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Causal self-attention as a layer.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <triax/core/error.hpp>
#include <triax/device/gemm.hpp>
#include <triax/kernels/attention.hpp>
#include <triax/kernels/elementwise.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/stream.hpp>

namespace triax {

/// y = attention(x qkv + qkv_bias) out + out_bias with `heads` heads of width / heads features: each token
/// attends to itself and to the tokens before it in its sequence. It keeps its input and, per token, 4 *
/// width numbers.
///
/// Throws ShapeError for a stream of another width, and ConfigError from parameters() if `heads` does not
/// divide `width`.
struct CausalSelfAttention {
  std::int64_t width = 0;
  std::int64_t heads = 1;

  enum { qkv, qkv_bias, out, out_bias };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, qkv, attended, dy, d_qkv;
    tensor_t<Ctx, typename Ctx::accumulator> logsumexp;
  };

  std::array<Parameter, 4> parameters() const {
    if (heads <= 0 || width % heads != 0)
      throw ConfigError("CausalSelfAttention: " + std::to_string(heads) + " heads do not divide a width of " +
                        std::to_string(width) + "; choose a width that is a multiple of the heads");
    const auto zeros = Initialiser::zeros();
    return {
        Parameter{.name = "qkv", .shape = {width, 3 * width}, .split = Split::columns.in_sections(3)},
        Parameter{.name = "qkv_bias",
                  .shape = {3 * width},
                  .init = zeros,
                  .split = Split::rows.in_sections(3),
                  .decay = false},
        Parameter{.name = "out", .shape = {width, width}, .split = Split::rows},
        Parameter{.name = "out_bias", .shape = {width}, .init = zeros, .decay = false},
    };
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    require_features("CausalSelfAttention", x.shape(), width);
    const AttentionSizes sizes = local_sizes(ctx, x.shape());
    cache = {.x = x,
             .qkv = ctx.save(x.shape().with_columns(ctx.parameter(qkv).columns())),
             .attended = ctx.save(sizes.output()),
             .dy = {},
             .d_qkv = {},
             .logsumexp = save<typename Ctx::accumulator>(ctx, sizes.statistics())};
    gemm(ctx.device, x, ctx.parameter(qkv), cache.qkv);
    add_bias(ctx.device, ctx.parameter(qkv_bias), cache.qkv);
    const auto tiles =
        scratch<typename Ctx::accumulator>(ctx, attention_scratch<typename Ctx::compute>(sizes));
    attention(ctx.device, cache.qkv, cache.attended, cache.logsumexp, tiles, sizes, ctx.positions());
    const auto y = ctx.output(x.shape());
    gemm(ctx.device, cache.attended, ctx.parameter(out), y);
    add_bias(ctx.device, ctx.parameter(out_bias), y);
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.d_qkv = ctx.scratch(cache.qkv.shape());
    const auto dx = input_gradient(ctx, dy, cache);
    backward_weight(ctx, cache);
    return dx;
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.d_qkv = ctx.save(cache.qkv.shape());
    return input_gradient(ctx, dy, cache);
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const {
    gemm(ctx.device, transposed(cache.x), cache.d_qkv, ctx.gradient(qkv), accumulate);
    add_bias_gradient(ctx.device, cache.d_qkv, ctx.gradient(qkv_bias));
    gemm(ctx.device, transposed(cache.attended), cache.dy, ctx.gradient(out), accumulate);
    add_bias_gradient(ctx.device, cache.dy, ctx.gradient(out_bias));
  }

 private:
  // The sizes of this rank's attention; tensor parallelism leaves it some of the heads.
  template <class Ctx>
  AttentionSizes local_sizes(const Ctx& ctx, const Shape& stream) const {
    return {stream[0], stream[1], heads * ctx.parameter(out).rows() / width, width / heads};
  }

  template <class Ctx>
  typename Ctx::tensor input_gradient(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.dy = dy;
    const AttentionSizes sizes = local_sizes(ctx, dy.shape());
    const auto d_attended = ctx.scratch(sizes.output());
    gemm(ctx.device, dy, transposed(ctx.parameter(out)), d_attended);
    const Shape tiles_shape = attention_gradient_scratch<typename Ctx::compute>(sizes);
    attention_gradient(ctx.device, cache.qkv, cache.attended, cache.logsumexp, d_attended, cache.d_qkv,
                       scratch<typename Ctx::accumulator>(ctx, tiles_shape), sizes, ctx.positions());
    const auto dx = ctx.output(dy.shape());
    gemm(ctx.device, cache.d_qkv, transposed(ctx.parameter(qkv)), dx);
    return dx;
  }
};

}  // namespace triax
