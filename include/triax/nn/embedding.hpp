// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Token embedding with learned positions.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <triax/kernels/embedding.hpp>
#include <triax/nn/layer.hpp>

namespace triax {

/// An InputLayer: the row of `token` that a token's number names, plus the row of `position` that its place
/// in the sequence names. With a context of 0 there are no learned positions and `position` has no elements.
///
/// Throws ShapeError for a number outside the vocabulary, for a sequence that is longer than the context, and
/// for a batch without token numbers.
struct Embedding {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t context = 0;  ///< the longest sequence
  std::string tie{};  ///< names the parameter that `token` shares with another layer's, see VocabularyHead

  enum { token, position };

  template <class Ctx>
  struct Cache {};

  std::array<Parameter, 2> parameters() const {
    return {Parameter{.name = "token", .shape = {vocabulary, width}, .tie = tie},
            Parameter{.name = "position", .shape = {context, width}}};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, Cache<Ctx>&) const {
    const auto& ids = ctx.batch().inputs();
    if (ids.shape().rank() != 2)
      throw ShapeError(
          "Embedding needs a batch of token numbers, but this batch holds values; make it with token inputs");
    const auto y = ctx.output({ids.shape()[0], ids.shape()[1], width});
    embed(ctx.device, ids, ctx.parameter(token), learned(ctx.parameter(position)), y, ctx.positions());
    return y;
  }

  template <class Ctx>
  void backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>&) const {
    using Gradient = tensor_t<Ctx, typename Ctx::accumulator>;
    embed_gradient(ctx.device, dy, ctx.batch().inputs(), ctx.gradient(token),
                   context > 0 ? ctx.gradient(position) : Gradient{}, ctx.positions());
  }

 private:
  template <class Table>
  Table learned(Table table) const {
    return context > 0 ? table : Table{};
  }
};

}  // namespace triax
