// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// From features to one logit per token of the vocabulary.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <triax/device/gemm.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/stream.hpp>

namespace triax {

/// logits = x token^T, without bias. Its parameter has the shape of an Embedding's, so that both can be one:
/// give them the same `tie` (Press and Wolf, "Using the output embedding to improve language models", 2017).
struct VocabularyHead {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::string tie{};  ///< names the parameter that `token` shares with another layer's

  enum { token };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, dy;
  };

  std::array<Parameter, 1> parameters() const {
    return {Parameter{.name = "token", .shape = {vocabulary, width}, .tie = tie}};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    require_features("VocabularyHead", x.shape(), width);
    cache.x = x;
    const auto logits = ctx.output(x.shape().with_columns(vocabulary));
    gemm(ctx.device, x, transposed(ctx.parameter(token)), logits);
    return logits;
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
    const auto dx = ctx.output(cache.x.shape());
    gemm(ctx.device, dy, ctx.parameter(token), dx);
    return dx;
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const {
    gemm(ctx.device, transposed(cache.dy), cache.x, ctx.gradient(token), accumulate);
  }
};

}  // namespace triax
