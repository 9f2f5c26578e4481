// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The data of a step.

#pragma once

#include <cstdint>
#include <string>

#include <triax/core/error.hpp>
#include <triax/core/tensor.hpp>

namespace triax {

/// The sizes of a batch: `sequences` of `tokens` each; the features per token only for batches of values.
struct BatchShape {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  std::int64_t input_features = 0;
  std::int64_t target_features = 0;
};

/// "4 sequences of 16 tokens", and what a token has where that are values; for messages.
inline std::string to_string(const BatchShape& shape) {
  std::string text =
      std::to_string(shape.sequences) + " sequences of " + std::to_string(shape.tokens) + " tokens";
  if (shape.input_features > 0) text += " with " + std::to_string(shape.input_features) + " features";
  return text;
}

/// Views of a batch's data on `Device`, which the caller keeps alive during the step.
///
/// Inputs and targets are token numbers of shape {sequences, tokens}, or values of shape {sequences, tokens,
/// features}. `weights` {sequences, tokens} says how much each token counts (0: ignored); left out, each
/// counts 1. `first_sample` is the number of the first sequence in the global batch: it keys dropout. Left
/// out (negative), the engine derives it.
template <class Device>
class Batch {
 public:
  using Tokens = Tensor<const std::int32_t, Device>;
  using Values = Tensor<const float, Device>;

  Batch() = default;
  /// Inputs alone: enough for `forward`.
  explicit Batch(Tokens inputs) : inputs_(inputs), shape_{inputs.shape()[0], inputs.shape()[1], 0, 0} {
    check("inputs", inputs.shape(), 2);
  }
  explicit Batch(Values inputs)
      : input_values_(inputs), shape_{inputs.shape()[0], inputs.shape()[1], inputs.columns(), 0} {
    check("inputs", inputs.shape(), 3);
  }
  /// Throws ShapeError when the shapes do not belong together.
  Batch(Tokens inputs, Tokens targets, Values weights = {}, std::int64_t first_sample = -1)
      : inputs_(inputs),
        targets_(targets),
        weights_(weights),
        first_sample_(first_sample),
        shape_{inputs.shape()[0], inputs.shape()[1], 0, 0} {
    check("inputs", inputs.shape(), 2);
    check("targets", targets.shape(), 2);
  }
  Batch(Values inputs, Values targets, Values weights = {}, std::int64_t first_sample = -1)
      : input_values_(inputs),
        target_values_(targets),
        weights_(weights),
        first_sample_(first_sample),
        shape_{inputs.shape()[0], inputs.shape()[1], inputs.columns(), targets.columns()} {
    check("inputs", inputs.shape(), 3);
    check("targets", targets.shape(), 3);
  }
  /// Values in, classes out.
  Batch(Values inputs, Tokens targets, Values weights = {}, std::int64_t first_sample = -1)
      : input_values_(inputs),
        targets_(targets),
        weights_(weights),
        first_sample_(first_sample),
        shape_{inputs.shape()[0], inputs.shape()[1], inputs.columns(), 0} {
    check("inputs", inputs.shape(), 3);
    check("targets", targets.shape(), 2);
  }

  const Tokens& inputs() const { return inputs_; }
  const Tokens& targets() const { return targets_; }
  const Values& input_values() const { return input_values_; }
  const Values& target_values() const { return target_values_; }
  const Values& weights() const { return weights_; }
  std::int64_t first_sample() const { return first_sample_; }

  const BatchShape& shape() const { return shape_; }
  std::int64_t sequences() const { return shape_.sequences; }
  std::int64_t tokens() const { return shape_.tokens; }

  /// The same data under another number of its first sequence.
  Batch starting_at(std::int64_t first_sample) const {
    Batch result = *this;
    result.first_sample_ = first_sample;
    return result;
  }
  /// Sequences [first, first + count).
  Batch slice(std::int64_t first, std::int64_t count) const {
    Batch result = *this;
    result.shape_.sequences = count;
    result.first_sample_ = first_sample_ < 0 ? first_sample_ : first_sample_ + first;
    if (inputs_) result.inputs_ = inputs_.slice(first, count);
    if (targets_) result.targets_ = targets_.slice(first, count);
    if (input_values_) result.input_values_ = input_values_.slice(first, count);
    if (target_values_) result.target_values_ = target_values_.slice(first, count);
    if (weights_) result.weights_ = weights_.slice(first, count);
    return result;
  }

 private:
  void check(const char* what, const Shape& shape, int rank) const {
    const bool fits = shape.rank() == rank && shape[0] == shape_.sequences && shape[1] == shape_.tokens;
    if (!fits)
      throw ShapeError(std::string("the batch's ") + what + " have shape " + to_string(shape) + ", but " +
                       std::to_string(shape_.sequences) + " sequences of " + std::to_string(shape_.tokens) +
                       " tokens" + (rank == 3 ? " of any number of features" : "") + " were expected");
    const Shape weights = weights_.shape();
    if (weights.rank() != 0 && weights != Shape{shape_.sequences, shape_.tokens})
      throw ShapeError("the batch's weights have shape " + to_string(weights) + ", but its inputs hold " +
                       std::to_string(shape_.sequences) + " sequences of " + std::to_string(shape_.tokens) +
                       " tokens");
  }

  Tokens inputs_{};
  Values input_values_{};
  Tokens targets_{};
  Values target_values_{};
  Values weights_{};
  std::int64_t first_sample_ = -1;
  BatchShape shape_{};
};

}  // namespace triax
