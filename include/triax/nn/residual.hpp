// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A layer with a path around it.

#pragma once

#include <array>

#include <triax/kernels/elementwise.hpp>
#include <triax/nn/layer.hpp>

namespace triax {

/// y = x + inner(x). The inner layer's output belongs to its caller, so the sum is made in place.
template <class Inner>
struct Residual {
  Inner inner;

  template <class Ctx>
  struct Cache {
    typename Inner::template Cache<Ctx> inner;
  };

  std::array<Parameter, parameter_count<Inner>> parameters() const { return inner.parameters(); }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    return plus(ctx, inner.forward(ctx, x, cache.inner), x);
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    return plus(ctx, inner.backward(ctx, dy, cache.inner), dy);
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const
    requires SplitLayer<Inner, Ctx>
  {
    return plus(ctx, inner.backward_input(ctx, dy, cache.inner), dy);
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const
    requires SplitLayer<Inner, Ctx>
  {
    inner.backward_weight(ctx, cache.inner);
  }

 private:
  template <class Ctx>
  static typename Ctx::tensor plus(Ctx& ctx, typename Ctx::tensor y, typename Ctx::tensor x) {
    if (y.shape() != x.shape())
      throw ShapeError("Residual adds its layer's output of shape " + to_string(y.shape()) +
                       " to an input of shape " + to_string(x.shape()) +
                       "; the layer must keep the shape of the stream");
    add(ctx.device, x, y);
    return y;
  }
};
template <class Inner>
Residual(Inner) -> Residual<Inner>;

}  // namespace triax
