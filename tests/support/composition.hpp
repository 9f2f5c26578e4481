// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A small model under all policies at once, for tests that compile the engine but are not about it.

#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <triax/triax.hpp>

namespace triax::test {

struct SmallNet {
  using Attention = Residual<Block<LayerNorm, CausalSelfAttention>>;
  using FeedForward = Residual<Block<LayerNorm, Mlp>>;

  std::tuple<Embedding, Repeat<Block<Attention, FeedForward>>, LayerNorm, VocabularyHead> layers;
  CrossEntropy loss;
};

inline SmallNet small_net() {
  constexpr int vocabulary = 16, width = 8, context = 4;
  const SmallNet::Attention attention{Block{LayerNorm{width}, CausalSelfAttention{width, 2}}};
  const SmallNet::FeedForward feed_forward{Block{LayerNorm{width}, Mlp{width, 4 * width}}};
  return {{Embedding{vocabulary, width, context}, Repeat{Block{attention, feed_forward}, 2}, LayerNorm{width},
           VocabularyHead{vocabulary, width}},
          {}};
}

using Everything = Strategy<DataParallel<>, Sharded<Stage::gradients>, PipelineStage<OneFOneB>,
                            MicroBatches<2>, MixedPrecision<bf16>, Clip<By::norm>>;

/// One step on two ranks, as threads; returns the loss that rank 0 saw.
inline double step_of_small_net() {
  double loss = 0;
  run_threads(2, [&](ThreadCommunicator world) {
    Mesh mesh(world, {.dp = 1, .pp = 2});
    Parallel model(small_net(), Everything{}, mesh, AdamW{});
    std::vector<std::int32_t> tokens(8, 3);
    const Tensor<const std::int32_t, Host> view{tokens.data(), {2, 4}};
    const double mean = model.step(Batch<Host>(view, view)).loss();
    if (world.rank() == 0) loss = mean;
  });
  return loss;
}

}  // namespace triax::test
