// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The first layer of a model whose inputs are numbers.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <triax/kernels/elementwise.hpp>
#include <triax/nn/layer.hpp>

namespace triax {

/// An InputLayer: the batch's input values, rounded to the compute type, become the stream. Throws ShapeError
/// for a batch with another number of features, or of token numbers.
struct InputValues {
  std::int64_t features = 0;

  template <class Ctx>
  struct Cache {};

  std::array<Parameter, 0> parameters() const { return {}; }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, Cache<Ctx>&) const {
    const auto& values = ctx.batch().input_values();
    if (values.shape().rank() != 3 || values.columns() != features)
      throw ShapeError("InputValues needs input values of " + std::to_string(features) + " features, but " +
                       (values.shape().rank() == 3 ? "the batch's have shape " + to_string(values.shape())
                                                   : std::string("this batch holds token numbers")));
    const auto y = ctx.output(values.shape());
    cast(ctx.device, values, y);
    return y;
  }
  template <class Ctx>
  void backward(Ctx&, typename Ctx::tensor, Cache<Ctx>&) const {}
};

}  // namespace triax
