// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Trains the small GPT on ranks and writes down what happened.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/models/gpt.hpp"

namespace triax::test {

/// A batch of text of the whole mesh: windows of a sentence that repeats, so that there is something to
/// learn.
class TextBatch {
 public:
  TextBatch(int step, std::int64_t sequences, std::int64_t tokens, std::int32_t vocabulary = 32);

  /// The contiguous part of data-parallel rank `rank` of `ranks`.
  Batch<Host> part(int rank, int ranks) const;
  Batch<Host> all() const { return part(0, 1); }

  /// The same batch where every fifth token does not count.
  TextBatch with_ignored_tokens() const;

  const std::vector<std::int32_t>& inputs() const { return inputs_; }
  const std::vector<std::int32_t>& targets() const { return targets_; }
  const std::vector<float>& weights() const { return weights_; }

 private:
  Shape shape_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> targets_;
  std::vector<float> weights_;  // empty: each counts 1
};

/// A training run: the same batches whatever the mesh.
struct Run {
  GptOptions model{};
  int steps = 20;
  std::int64_t sequences = 8;  ///< of the whole mesh
  bool ignored_tokens = false;
};

/// What a run was like. Losses and weights are those that rank 0 saw; the others' are compared with them.
struct History {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<bool> applied;
  std::vector<float> loss_scales;
  std::map<std::string, std::vector<float>> weights;  ///< after the last step, by path
  /// What a rank planned for itself and did not find, or saw otherwise than rank 0; empty if all is well.
  std::vector<std::string> discrepancies;
};

/// Does the run's steps on the ranks of a world that begins in `begin(f)`, which calls f(rank's model) on
/// each rank. Compares plan and measurement on every rank after the second step.
History train_on(const Run& run, const std::function<void(const std::function<void(ModelRank&)>&)>& begin);

/// The run on threads.
History train(const Run& run);

/// The elements, messages and bytes in which a rank's plan for `shape` differs from what was measured since
/// its traffic was last reset, when one step was done since; a line each.
std::vector<std::string> compare_with_plan(ModelRank& model, const BatchShape& shape);

/// The largest |a - b| over all weights.
double worst_difference(const std::map<std::string, std::vector<float>>& a,
                        const std::map<std::string, std::vector<float>>& b);
/// The largest |a - b| / |b| over all elements; infinite for different sizes.
double worst_relative(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace triax::test
