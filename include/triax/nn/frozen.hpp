// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A layer that is not trained.

#pragma once

#include <array>

#include <triax/nn/layer.hpp>

namespace triax {

/// The same layer with frozen parameters: no gradient, master or optimizer memory and no decay, but the
/// stream's gradient passes through. Of a SplitLayer only `backward_input` does any work.
template <class Inner>
struct Frozen {
  Inner inner;

  template <class Ctx>
  struct Cache {
    typename Inner::template Cache<Ctx> inner;
  };

  std::array<Parameter, parameter_count<Inner>> parameters() const {
    auto all = inner.parameters();
    for (Parameter& parameter : all) parameter.frozen = true;
    return all;
  }

  template <class Ctx>
    requires Layer<Inner, Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    return inner.forward(ctx, x, cache.inner);
  }
  template <class Ctx>
    requires Layer<Inner, Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    return inner.backward(ctx, dy, cache.inner);
  }
  template <class Ctx>
    requires SplitLayer<Inner, Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    return inner.backward_input(ctx, dy, cache.inner);
  }
  template <class Ctx>
    requires SplitLayer<Inner, Ctx>
  void backward_weight(Ctx&, Cache<Ctx>&) const {}

  template <class Ctx>
    requires InputLayer<Inner, Ctx>
  typename Ctx::tensor forward(Ctx& ctx, Cache<Ctx>& cache) const {
    return inner.forward(ctx, cache.inner);
  }
  template <class Ctx>
    requires InputLayer<Inner, Ctx>
  void backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    inner.backward(ctx, dy, cache.inner);
  }
};
template <class Inner>
Frozen(Inner) -> Frozen<Inner>;

}  // namespace triax
