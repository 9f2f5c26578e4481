// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Dropout.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <triax/kernels/dropout.hpp>
#include <triax/kernels/elementwise.hpp>
#include <triax/nn/layer.hpp>

namespace triax {

/// Sets elements to zero with the given probability in training and scales the others by 1 / (1 -
/// probability), so that the mean stays; otherwise it copies (Srivastava et al., "Dropout", 2014, in the
/// inverted form).
///
/// Whether an element is dropped depends on the model's seed, the layer's place in the model, the step, and
/// the element's sample, position and feature: the mask is the same however ranks and micro-batches cut the
/// batch, and backward draws it again instead of keeping it. Throws ConfigError for a probability outside [0,
/// 1).
struct Dropout {
  double probability = 0.1;

  template <class Ctx>
  struct Cache {};

  std::array<Parameter, 0> parameters() const {
    if (!(probability >= 0 && probability < 1))
      throw ConfigError("Dropout needs a probability of at least 0 and below 1, but has " +
                        std::to_string(probability));
    return {};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>&) const {
    return masked(ctx, x);
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>&) const {
    return masked(ctx, dy);
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>&) const {
    return masked(ctx, dy);
  }
  template <class Ctx>
  void backward_weight(Ctx&, Cache<Ctx>&) const {}

 private:
  // An output belongs to its caller, so even the identity is a copy.
  template <class Ctx>
  typename Ctx::tensor masked(Ctx& ctx, typename Ctx::tensor x) const {
    const auto y = ctx.output(x.shape());
    if (ctx.training() && probability > 0) {
      dropout(ctx.device, x, y, ctx.random(0), probability);
    } else {
      copy(ctx.device, x, y);
    }
    return y;
  }
};

}  // namespace triax
