// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Embedding and VocabularyHead on small whole numbers, so that every result is exact.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/nn/embedding.hpp>
#include <triax/nn/vocabulary_head.hpp>

#include "support/layer_harness.hpp"

namespace triax::test {
namespace {

static_assert(InputLayer<Embedding>);
static_assert(SplitLayer<VocabularyHead>);

std::vector<double> whole_numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<double> numbers;
  for (const std::int32_t number : random_tokens(count, seed, 9)) numbers.push_back(number - 4);
  return numbers;
}

struct Case : LayerCase {
  Case() {
    parameters = {whole_numbers(5 * 3, 1), whole_numbers(8 * 3, 2)};
    dy = whole_numbers(4 * 3, 3);
    batch = {.shape = {2, 2}, .inputs = {4, 0, 4, 4}, .targets = {0, 0, 0, 0}};
    gradient = 10;
  }
};

TEST_CASE_TEMPLATE("Embedding adds the rows of token and position", T, float, bf16) {
  Case given;
  given.first_position = 5;
  const LayerOutcome found = run_layer<T>(Embedding{.vocabulary = 5, .width = 3, .context = 8}, given);

  std::vector<double> y;
  std::vector<double> token_gradient(15, 10);
  std::vector<double> position_gradient(24, 10);
  for (std::size_t place = 0; place < 4; ++place)
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t row = static_cast<std::size_t>(given.batch.inputs[place]) * 3 + i;
      const std::size_t position = (5 + place % 2) * 3 + i;
      y.push_back(given.parameters[0][row] + given.parameters[1][position]);
      token_gradient[row] += given.dy[place * 3 + i];
      position_gradient[position] += given.dy[place * 3 + i];
    }
  CHECK(found.shape == Shape{2, 2, 3});
  CHECK(found.y == y);
  CHECK(found.gradients[Embedding::token] == token_gradient);
  CHECK(found.gradients[Embedding::position] == position_gradient);
}

TEST_CASE("Embedding without a context has no positions") {
  Case given;
  given.first_position = 1000;
  given.parameters[1].clear();
  const LayerOutcome found = run_layer<float>(Embedding{.vocabulary = 5, .width = 3}, given);
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.y[i] == given.parameters[0][4 * 3 + i]);
  CHECK(found.asked == std::vector<bool>{true, false});
  CHECK(Embedding{.vocabulary = 5, .width = 3}.parameters()[Embedding::position].shape.size() == 0);
}

TEST_CASE("Embedding's errors say what was wanted and what came") {
  Case unknown;
  unknown.batch.inputs[3] = 5;
  CHECK_THROWS_WITH_AS(
      run_layer<float>(Embedding{5, 3, 8}, unknown),
      "the number of token 3 of the micro-batch is 5, but the vocabulary has 5 tokens, numbered from "
      "0; give the model a larger vocabulary or mend the data",
      ShapeError);
  Case too_long;
  too_long.first_position = 7;
  CHECK_THROWS_AS(run_layer<float>(Embedding{5, 3, 8}, too_long), ShapeError);
  Case values;
  values.batch = {.shape = {2, 2, 1, 1}, .input_values = {1, 2, 3, 4}, .target_values = {1, 2, 3, 4}};
  CHECK_THROWS_WITH_AS(
      run_layer<float>(Embedding{5, 3, 8}, values),
      "Embedding needs a batch of token numbers, but this batch holds values; make it with token inputs",
      ShapeError);
}

TEST_CASE_TEMPLATE("VocabularyHead multiplies by its transposed table", T, float, bf16) {
  LayerCase given{.shape = {2, 2, 3},
                  .x = whole_numbers(12, 1),
                  .parameters = {whole_numbers(5 * 3, 2)},
                  .dy = whole_numbers(4 * 5, 3),
                  .batch = {.shape = {2, 2}},
                  .gradient = 10};
  const LayerOutcome found = run_layer<T>(VocabularyHead{.vocabulary = 5, .width = 3}, given);

  std::vector<double> logits(20);
  std::vector<double> dx(12);
  std::vector<double> gradient(15, 10);
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t token = 0; token < 5; ++token)
      for (std::size_t i = 0; i < 3; ++i) {
        logits[row * 5 + token] += given.x[row * 3 + i] * given.parameters[0][token * 3 + i];
        dx[row * 3 + i] += given.dy[row * 5 + token] * given.parameters[0][token * 3 + i];
        gradient[token * 3 + i] += given.dy[row * 5 + token] * given.x[row * 3 + i];
      }
  CHECK(found.shape == Shape{2, 2, 5});
  CHECK(found.y == logits);
  CHECK(found.dx == dx);
  CHECK(found.gradients[VocabularyHead::token] == gradient);
}

TEST_CASE("Embedding and VocabularyHead declare the same parameter when they are tied") {
  const Embedding embedding{.vocabulary = 5, .width = 3, .context = 8, .tie = "token"};
  const VocabularyHead head{.vocabulary = 5, .width = 3, .tie = "token"};
  const Parameter first = embedding.parameters()[Embedding::token];
  const Parameter second = head.parameters()[VocabularyHead::token];
  CHECK(first.name == "token");
  CHECK(first.tie == "token");
  CHECK(second.tie == "token");
  CHECK(first.shape == Shape{5, 3});
  CHECK(first.shape == second.shape);
  CHECK(first.init == second.init);
  CHECK(first.split == second.split);
  CHECK(first.decay == second.decay);
  CHECK(embedding.parameters()[Embedding::position].name == "position");
  CHECK(embedding.parameters()[Embedding::position].tie.empty());
  CHECK(Embedding{.vocabulary = 5, .width = 3}.parameters()[Embedding::token].tie.empty());
}

TEST_CASE("VocabularyHead refuses a stream of another width") {
  const LayerCase given{.shape = {2, 2, 4}, .x = random_values(16, 1), .batch = {.shape = {2, 2}}};
  CHECK_THROWS_AS(run_layer<float>(VocabularyHead{5, 3}, given), ShapeError);
}

}  // namespace
}  // namespace triax::test
