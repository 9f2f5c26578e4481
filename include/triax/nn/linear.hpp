// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The linear layer.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <triax/device/gemm.hpp>
#include <triax/kernels/elementwise.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/stream.hpp>

namespace triax {

/// y = x weight, and + bias if it has one, for each token; maps `in` features to `out`. It keeps its input.
/// Throws ShapeError for a stream of another width.
template <bool HasBias>
struct BasicLinear {
  std::int64_t in = 0;
  std::int64_t out = 0;

  enum { weight, bias };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, dy;
  };

  std::array<Parameter, HasBias ? 2 : 1> parameters() const {
    const Parameter matrix{.name = "weight", .shape = {in, out}};
    if constexpr (HasBias) {
      return {matrix,
              Parameter{.name = "bias", .shape = {out}, .init = Initialiser::zeros(), .decay = false}};
    } else {
      return {matrix};
    }
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    require_features("Linear", x.shape(), in);
    cache.x = x;
    const auto y = ctx.output(x.shape().with_columns(out));
    gemm(ctx.device, x, ctx.parameter(weight), y);
    if constexpr (HasBias) add_bias(ctx.device, ctx.parameter(bias), y);
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dx = backward_input(ctx, dy, cache);
    backward_weight(ctx, cache);
    return dx;
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.dy = dy;
    const auto dx = ctx.output(dy.shape().with_columns(in));
    gemm(ctx.device, dy, transposed(ctx.parameter(weight)), dx);
    return dx;
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const {
    gemm(ctx.device, transposed(cache.x), cache.dy, ctx.gradient(weight), accumulate);
    if constexpr (HasBias) add_bias_gradient(ctx.device, cache.dy, ctx.gradient(bias));
  }
};

using Linear = BasicLinear<true>;
using UnbiasedLinear = BasicLinear<false>;

}  // namespace triax
