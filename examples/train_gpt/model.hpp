// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The model and how it is trained, as the options say: a GPT-2 over bytes.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>

#include <triax/triax.hpp>

#include "options.hpp"

namespace train_gpt {

using namespace triax;

/// `inner`, and dropout of what it returns. Unlike a Dropout of its own it costs nothing at probability 0:
/// the inner layer's output belongs to its caller, so elements are dropped in place.
template <class Inner>
struct WithDropout {
  Inner inner;
  double probability = 0;

  template <class Ctx>
  struct Cache {
    typename Inner::template Cache<Ctx> inner;
  };

  std::array<Parameter, parameter_count<Inner>> parameters() const { return inner.parameters(); }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    Ctx inside = ctx.sublayer(1, 0);
    const auto y = inner.forward(inside, x, cache.inner);
    if (drops(ctx)) dropout(ctx.device, y, y, ctx.random(0), probability);
    return y;
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    Ctx inside = ctx.sublayer(1, 0);
    if (!drops(ctx)) return inner.backward(inside, dy, cache.inner);
    const auto kept = ctx.scratch(dy.shape());
    dropout(ctx.device, dy, kept, ctx.random(0), probability);
    return inner.backward(inside, kept, cache.inner);
  }

 private:
  template <class Ctx>
  bool drops(const Ctx& ctx) const {
    return ctx.training() && probability > 0;
  }
};

using TransformerBlock = Block<Residual<Block<LayerNorm, WithDropout<CausalSelfAttention>>>,
                               Residual<Block<LayerNorm, WithDropout<Mlp>>>>;

/// GPT-2 with bytes as its vocabulary; the head shares its matrix with the embedding.
/// Radford et al., "Language models are unsupervised multitask learners", 2019.
struct Gpt {
  std::tuple<Embedding, Repeat<TransformerBlock>, LayerNorm, VocabularyHead> layers;
  CrossEntropy loss;
};

inline Gpt make_gpt(const ModelOptions& o) {
  constexpr int vocabulary = 256;
  using Attention = WithDropout<CausalSelfAttention>;
  using FeedForward = WithDropout<Mlp>;
  const LayerNorm norm{.width = o.width};
  const Attention attention{{.width = o.width, .heads = o.heads}, o.dropout};
  const FeedForward feed_forward{{.width = o.width, .hidden = 4 * o.width}, o.dropout};
  const TransformerBlock transformer_block{Residual{block(norm, attention)},
                                           Residual{block(norm, feed_forward)}};
  return {
      .layers = {Embedding{.vocabulary = vocabulary, .width = o.width, .context = o.context, .tie = "token"},
                 Repeat{transformer_block, o.layers}, norm,
                 VocabularyHead{.vocabulary = vocabulary, .width = o.width, .tie = "token"}},
      .loss = {}};
}

/// All choices but the precision, in which layers are compiled, are values.
template <class T>
using GptStrategy =
    Strategy<DataParallel<>, Sharded<>, MicroBatches<>, PipelineStage<>, MixedPrecision<T>, Clip<>>;

template <class T>
GptStrategy<T> make_strategy(const Options& o) {
  constexpr std::size_t first_bucket_bytes = std::size_t{1} << 20;
  const auto bucket_bytes = static_cast<std::size_t>(o.strategy.bucket_bytes);
  const bool gpipe = o.strategy.schedule == ScheduleName::gpipe;
  return {DataParallel<>{.bucket_bytes = bucket_bytes,
                         .first_bucket_bytes = std::min(first_bucket_bytes, bucket_bytes)},
          Sharded<>{.stage = o.strategy.stage, .accumulate = o.strategy.accumulate},
          MicroBatches<>{o.train.microbatches},
          PipelineStage<>{gpipe ? AnySchedule(GPipe{}) : AnySchedule(OneFOneB{})},
          MixedPrecision<T>{.loss_scale = {.initial = static_cast<float>(o.train.loss_scale)}},
          Clip<>{.by = o.train.clip > 0 ? By::norm : By::none, .limit = static_cast<float>(o.train.clip)}};
}

using GptOptimizer = OneOf<AdamW, Sgd>;

inline GptOptimizer make_optimizer(const Options& o) {
  LearningRate rate = LearningRate(o.train.lr).warm_up(o.train.warmup);
  const int last_update = o.train.steps - 1;  // counted from 0
  if (o.train.decay == Decay::cosine) rate = rate.cosine(last_update, o.lr_min());
  if (o.train.decay == Decay::linear) rate = rate.linear(last_update, o.lr_min());
  if (o.train.optimizer == OptimizerName::sgd) return Sgd{.lr = rate, .weight_decay = o.train.weight_decay};
  return AdamW{.lr = rate, .weight_decay = o.train.weight_decay};
}

/// What a step works on, on every rank.
inline BatchShape batch_shape(const Options& o) {
  return {.sequences = o.local_batch(), .tokens = o.model.context};
}

}  // namespace train_gpt
