// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The loss of classifiers and language models.

#pragma once

#include <cstdint>

#include <triax/kernels/cross_entropy.hpp>
#include <triax/nn/layer.hpp>

namespace triax {

/// A LossLayer: the cross-entropy between the softmax of the stream, whose features are logits, and the
/// batch's target tokens, summed over tokens with their weights. A token of weight 0 or with the target
/// `ignore` does not count, whatever its logits are.
///
/// Throws ShapeError for a target that names no class, and for a batch without target tokens.
struct CrossEntropy {
  std::int32_t ignore = -1;

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor logits;
    tensor_t<Ctx, typename Ctx::accumulator> maximum, normaliser;
  };

  template <class Ctx>
  typename Ctx::loss forward(Ctx& ctx, typename Ctx::tensor logits, Cache<Ctx>& cache) const {
    cache.logits = logits;
    cache.maximum = save<typename Ctx::accumulator>(ctx, {logits.rows()});
    cache.normaliser = save<typename Ctx::accumulator>(ctx, {logits.rows()});
    const auto loss = save<LossSum>(ctx, {1});
    cross_entropy(ctx.device, logits, targets(ctx), loss, cache.maximum, cache.normaliser);
    return loss;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, Cache<Ctx>& cache) const {
    const auto gradient = ctx.output(cache.logits.shape());
    cross_entropy_gradient(ctx.device, cache.logits, targets(ctx), cache.maximum, cache.normaliser,
                           ctx.seed(), gradient);
    return gradient;
  }

  /// Adds the weights of the micro-batch's tokens that count to `sum`.
  template <class Ctx>
  void count(Ctx& ctx, tensor_t<Ctx, double> sum) const {
    const auto counted = targets(ctx);
    count_tokens(ctx.device, counted.tokens.shape(), counted.weights, counted.tokens, ignore, sum);
  }

 private:
  template <class Ctx>
  Targets<typename Ctx::device_type> targets(const Ctx& ctx) const {
    const auto& batch = ctx.batch();
    if (batch.targets().shape().rank() != 2)
      throw ShapeError(
          "CrossEntropy needs target tokens, but this batch has none; make it with token targets");
    return {batch.targets(), batch.weights(), ignore};
  }
};

}  // namespace triax
