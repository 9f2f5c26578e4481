// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The layers of the small GPT. To be included only where its engine is compiled.

#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include <triax/nn/attention.hpp>
#include <triax/nn/block.hpp>
#include <triax/nn/cross_entropy.hpp>
#include <triax/nn/dropout.hpp>
#include <triax/nn/embedding.hpp>
#include <triax/nn/layer_norm.hpp>
#include <triax/nn/mlp.hpp>
#include <triax/nn/repeat.hpp>
#include <triax/nn/residual.hpp>
#include <triax/nn/vocabulary_head.hpp>

#include "support/models/gpt.hpp"
#include "support/models/model_rank_of.hpp"

namespace triax::test {

struct GptNet {
  using Attention = Residual<Block<LayerNorm, CausalSelfAttention, Dropout>>;
  using FeedForward = Residual<Block<LayerNorm, Mlp, Dropout>>;

  std::tuple<Embedding, Repeat<Block<Attention, FeedForward>>, LayerNorm, VocabularyHead> layers;
  CrossEntropy loss;
};

inline GptNet gpt_net(const GptSizes& sizes) {
  const int width = sizes.width;
  const GptNet::Attention attention{
      block(LayerNorm{width}, CausalSelfAttention{width, sizes.heads}, Dropout{sizes.dropout})};
  const GptNet::FeedForward feed_forward{
      block(LayerNorm{width}, Mlp{width, 4 * width}, Dropout{sizes.dropout})};
  const char* const tie = sizes.tied ? "tokens" : "";
  return {{Embedding{sizes.vocabulary, width, sizes.context, tie},
           Repeat{block(attention, feed_forward), sizes.blocks}, LayerNorm{width},
           VocabularyHead{sizes.vocabulary, width, tie}},
          {}};
}

/// The GPT in the precision of the policy `Precision` on a rank of `world`.
template <class Precision, class World>
std::unique_ptr<ModelRank> make_gpt_of(World world, const GptOptions& options) {
  using S = RunTimeStrategy<Precision>;
  return std::make_unique<ModelRankOf<GptNet, S, World>>(
      std::move(world), options.mesh, gpt_net(options.sizes), strategy_of<Precision>(options.policies),
      options.optimizer, options.seed);
}

}  // namespace triax::test
