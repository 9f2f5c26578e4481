// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The loss of regression.

#pragma once

#include <triax/kernels/mean_squared_error.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/stream.hpp>

namespace triax {

/// A LossLayer: the mean over features of the squared differences between the stream and the batch's target
/// values, summed over tokens with their weights. So the reported loss, which is divided by the tokens, is
/// the mean over all elements.
///
/// Throws ShapeError for targets of another shape than the stream.
struct MeanSquaredError {
  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x;
  };

  template <class Ctx>
  typename Ctx::loss forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    const auto& targets = ctx.batch().target_values();
    if (targets.shape() != x.shape())
      throw ShapeError("MeanSquaredError needs target values of the stream's shape " + to_string(x.shape()) +
                       ", but the batch's have shape " + to_string(targets.shape()));
    cache.x = x;
    const auto loss = save<LossSum>(ctx, {1});
    mean_squared_error(ctx.device, x, targets, ctx.batch().weights(), loss);
    return loss;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, Cache<Ctx>& cache) const {
    const auto gradient = ctx.output(cache.x.shape());
    mean_squared_error_gradient(ctx.device, cache.x, ctx.batch().target_values(), ctx.batch().weights(),
                                ctx.seed(), gradient);
    return gradient;
  }
};

}  // namespace triax
