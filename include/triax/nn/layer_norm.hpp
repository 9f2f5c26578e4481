// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Layer normalisation over features.

#pragma once

#include <array>
#include <cstdint>

#include <triax/kernels/normalise.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/stream.hpp>

namespace triax {

/// Gives the features of each token mean 0 and variance 1, then scales and shifts them: `normalise`. It keeps
/// its input and two numbers per token. Throws ShapeError for a stream of another width.
struct LayerNorm {
  std::int64_t width = 0;
  double epsilon = 1e-5;  ///< added to the variance

  enum { scale, shift };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, dy;
    tensor_t<Ctx, typename Ctx::accumulator> mean, rstd;
  };

  std::array<Parameter, 2> parameters() const {
    return {Parameter{.name = "scale", .shape = {width}, .init = Initialiser::ones(), .decay = false},
            Parameter{.name = "shift", .shape = {width}, .init = Initialiser::zeros(), .decay = false}};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    require_features("LayerNorm", x.shape(), width);
    cache.x = x;
    cache.mean = save<typename Ctx::accumulator>(ctx, {x.rows()});
    cache.rstd = save<typename Ctx::accumulator>(ctx, {x.rows()});
    const auto y = ctx.output(x.shape());
    normalise(ctx.device, x, ctx.parameter(scale), ctx.parameter(shift), y, cache.mean, cache.rstd, epsilon);
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dx = ctx.output(dy.shape());
    gradients(ctx, dy, cache, dx, ctx.gradient(scale), ctx.gradient(shift));
    return dx;
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    cache.dy = dy;
    const auto dx = ctx.output(dy.shape());
    gradients(ctx, dy, cache, dx, {}, {});
    return dx;
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const {
    gradients(ctx, cache.dy, cache, {}, ctx.gradient(scale), ctx.gradient(shift));
  }

 private:
  template <class Ctx>
  static void gradients(Ctx& ctx, typename Ctx::tensor dy, const Cache<Ctx>& cache, typename Ctx::tensor dx,
                        tensor_t<Ctx, typename Ctx::accumulator> scale_gradient,
                        tensor_t<Ctx, typename Ctx::accumulator> shift_gradient) {
    normalise_gradient(ctx.device, dy, cache.x, cache.mean, cache.rstd, ctx.parameter(scale), dx,
                       scale_gradient, shift_gradient);
  }
};

}  // namespace triax
