// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The feed-forward layer of a transformer.

#pragma once

#include <array>
#include <cstdint>

#include <triax/device/gemm.hpp>
#include <triax/kernels/activation.hpp>
#include <triax/kernels/elementwise.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/stream.hpp>

namespace triax {

/// y = gelu(x up + up_bias) down + down_bias, for each token. It keeps its input and, per token, 2 * hidden
/// numbers. Throws ShapeError for a stream of another width.
struct Mlp {
  std::int64_t width = 0;
  std::int64_t hidden = 0;

  enum { up, up_bias, down, down_bias };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, hidden, activated, dy, d_hidden;
  };

  std::array<Parameter, 4> parameters() const {
    const auto zeros = Initialiser::zeros();
    return {
        Parameter{.name = "up", .shape = {width, hidden}, .split = Split::columns},
        Parameter{.name = "up_bias", .shape = {hidden}, .init = zeros, .split = Split::rows, .decay = false},
        Parameter{.name = "down", .shape = {hidden, width}, .split = Split::rows},
        Parameter{.name = "down_bias", .shape = {width}, .init = zeros, .decay = false},
    };
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    require_features("Mlp", x.shape(), width);
    const Shape inner = x.shape().with_columns(ctx.parameter(up).columns());
    cache = {.x = x, .hidden = ctx.save(inner), .activated = ctx.save(inner), .dy = {}, .d_hidden = {}};
    gemm(ctx.device, x, ctx.parameter(up), cache.hidden);
    bias_activation(ctx.device, GeluTanh{}, ctx.parameter(up_bias), cache.hidden, cache.activated);
    const auto y = ctx.output(x.shape());
    gemm(ctx.device, cache.activated, ctx.parameter(down), y);
    add_bias(ctx.device, ctx.parameter(down_bias), y);
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.dy = dy;
    cache.d_hidden = ctx.scratch(cache.hidden.shape());
    const auto dx = input_gradient(ctx, cache, ctx.gradient(up_bias));
    matrix_gradients(ctx, cache);
    return dx;
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.dy = dy;
    cache.d_hidden = ctx.save(cache.hidden.shape());
    return input_gradient(ctx, cache, {});
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const {
    add_bias_gradient(ctx.device, cache.d_hidden, ctx.gradient(up_bias));
    matrix_gradients(ctx, cache);
  }

 private:
  template <class Ctx>
  static typename Ctx::tensor input_gradient(Ctx& ctx, const Cache<Ctx>& cache,
                                             tensor_t<Ctx, typename Ctx::accumulator> up_bias_gradient) {
    gemm(ctx.device, cache.dy, transposed(ctx.parameter(down)), cache.d_hidden);
    bias_activation_gradient(ctx.device, GeluTanh{}, cache.hidden, cache.d_hidden, up_bias_gradient);
    const auto dx = ctx.output(cache.dy.shape());
    gemm(ctx.device, cache.d_hidden, transposed(ctx.parameter(up)), dx);
    return dx;
  }
  template <class Ctx>
  static void matrix_gradients(Ctx& ctx, const Cache<Ctx>& cache) {
    gemm(ctx.device, transposed(cache.x), cache.d_hidden, ctx.gradient(up), accumulate);
    gemm(ctx.device, transposed(cache.activated), cache.dy, ctx.gradient(down), accumulate);
    add_bias_gradient(ctx.device, cache.dy, ctx.gradient(down_bias));
  }
};

}  // namespace triax
