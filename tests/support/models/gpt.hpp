// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A small GPT that most tests of whole models train.

#pragma once

#include <cstdint>
#include <memory>

#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>

#include "support/models/model_rank.hpp"

namespace triax::test {

using ThreadWorldRank = Traced<ThreadCommunicator>;

enum class Compute : std::uint8_t { fp32, bf16, fp16 };

struct GptSizes {
  int vocabulary = 32;
  int width = 16;
  int heads = 2;
  int context = 8;
  int blocks = 4;
  double dropout = 0;
  bool tied = true;  ///< the head's matrix is the token embedding
};

/// A model and how it is trained.
struct GptOptions {
  GptSizes sizes{};
  Extents mesh{};
  Compute compute = Compute::fp32;
  Policies policies{};
  AnyOptimizer optimizer = AdamW{};
  std::uint64_t seed = 1;
};

/// The model on one rank of threads. Collective.
std::unique_ptr<ModelRank> make_gpt(ThreadWorldRank world, const GptOptions& options);

}  // namespace triax::test
