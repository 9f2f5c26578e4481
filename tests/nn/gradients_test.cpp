// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Every layer of the library passes the numeric gradient check, in double, at sizes that fill no vector.

#include <doctest/doctest.h>

#include <triax/nn/activation.hpp>
#include <triax/nn/attention.hpp>
#include <triax/nn/block.hpp>
#include <triax/nn/check_gradients.hpp>
#include <triax/nn/cross_entropy.hpp>
#include <triax/nn/dropout.hpp>
#include <triax/nn/embedding.hpp>
#include <triax/nn/frozen.hpp>
#include <triax/nn/input_values.hpp>
#include <triax/nn/layer_norm.hpp>
#include <triax/nn/linear.hpp>
#include <triax/nn/mean_squared_error.hpp>
#include <triax/nn/mlp.hpp>
#include <triax/nn/residual.hpp>
#include <triax/nn/vocabulary_head.hpp>

namespace triax {
namespace {

template <class L>
void check(const L& layer, const Shape& shape, const GradientCheckOptions& options = {}) {
  const GradientReport report = check_gradients(layer, shape, options);
  INFO(to_string(report));
  CHECK(report.ok());
}

TEST_CASE("gradients of LayerNorm") {
  check(LayerNorm{5}, {2, 3, 5});
  check(LayerNorm{19}, {1, 2, 19});
}

TEST_CASE("gradients of Embedding") {
  check(Embedding{.vocabulary = 4, .width = 3, .context = 5}, {2, 5, 3}, {.vocabulary = 4});
  check(Embedding{.vocabulary = 4, .width = 3}, {2, 5, 3}, {.vocabulary = 4});
}

TEST_CASE("gradients of VocabularyHead") { check(VocabularyHead{.vocabulary = 7, .width = 3}, {2, 3, 3}); }

TEST_CASE("gradients of Linear") {
  check(Linear{.in = 5, .out = 3}, {2, 3, 5});
  check(UnbiasedLinear{.in = 3, .out = 6}, {2, 3, 3});
}

TEST_CASE("gradients of Gelu and Relu") {
  check(Gelu{}, {2, 3, 11});
  check(Relu{}, {2, 3, 11});
}

TEST_CASE("gradients of Mlp") { check(Mlp{.width = 5, .hidden = 7}, {2, 3, 5}); }

TEST_CASE("gradients of CausalSelfAttention") {
  check(CausalSelfAttention{.width = 6, .heads = 2}, {2, 5, 6});
  check(CausalSelfAttention{.width = 3, .heads = 1}, {1, 7, 3});
}

TEST_CASE("gradients of Dropout") {
  check(Dropout{0.3}, {2, 3, 9});
  check(Dropout{0}, {2, 3, 9});
}

TEST_CASE("gradients of the losses") {
  check(CrossEntropy{}, {2, 3, 7});
  check(CrossEntropy{.ignore = 2}, {2, 3, 7});
  check(MeanSquaredError{}, {2, 3, 5}, {.values = true});
}

TEST_CASE("gradients of InputValues") { check(InputValues{5}, {2, 3, 5}, {.values = true}); }

TEST_CASE("gradients of a transformer's block") {
  const auto attention = Residual{block(LayerNorm{6}, CausalSelfAttention{6, 2}, Dropout{0.2})};
  const auto feed_forward = Residual{block(LayerNorm{6}, Mlp{6, 10}, Dropout{0.2})};
  check(block(attention, feed_forward), {2, 4, 6});
}

TEST_CASE("gradients through frozen layers") {
  check(Frozen{Linear{5, 3}}, {2, 3, 5});
  check(block(Linear{4, 3}, Frozen{Mlp{3, 5}}, Linear{3, 2}), {2, 3, 4});
  check(Frozen{Embedding{.vocabulary = 4, .width = 3, .context = 5}}, {2, 5, 3}, {.vocabulary = 4});
}

}  // namespace
}  // namespace triax
