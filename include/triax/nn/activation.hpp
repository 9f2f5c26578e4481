// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Layers that apply a function to each element.

#pragma once

#include <array>

#include <triax/kernels/activation.hpp>
#include <triax/nn/layer.hpp>

namespace triax {

/// y = f(x), where `Function` has value(x) and derivative(x) on vectors. It keeps its input.
template <class Function>
struct Activation {
  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x;
  };

  std::array<Parameter, 0> parameters() const { return {}; }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    cache.x = x;
    const auto y = ctx.output(x.shape());
    activation(ctx.device, Function{}, x, y);
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dx = ctx.output(dy.shape());
    activation_gradient(ctx.device, Function{}, cache.x, dy, dx);
    return dx;
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    return backward(ctx, dy, cache);
  }
  template <class Ctx>
  void backward_weight(Ctx&, Cache<Ctx>&) const {}
};

/// The Gaussian error linear unit in its tanh form.
using Gelu = Activation<GeluTanh>;
/// max(x, 0)
using Relu = Activation<Rectifier>;

}  // namespace triax
