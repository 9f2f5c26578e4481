// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The text that a model learns, as bytes, and the batches that are cut from it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <triax/core/random.hpp>
#include <triax/device/host.hpp>
#include <triax/nn/batch.hpp>

#include "options.hpp"
#include "refusal.hpp"

namespace train_gpt {

/// The bytes of a file. The last tenth, rounded down, is held out for validation.
class Text {
 public:
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  std::int64_t held_out() const { return size() / 10; }
  std::int64_t training() const { return size() - held_out(); }
  std::int32_t operator[](std::int64_t i) const {
    return static_cast<unsigned char>(bytes_[static_cast<std::size_t>(i)]);
  }

 private:
  std::string bytes_;
};

/// Reads the text of a run. Throws Refusal if there is none, or too little for one sequence and one held-out
/// byte.
inline Text read_text(const Options& options) {
  std::ifstream file(options.data.path, std::ios::binary);
  std::ostringstream bytes;
  if (!file.is_open() || !(bytes << file.rdbuf()))
    throw Refusal("data.path=" + options.data.path + " cannot be read, or is empty");
  Text text(std::move(bytes).str());
  if (text.held_out() < 1 || text.training() <= options.model.context)
    throw Refusal("data.path=" + options.data.path + " holds " + std::to_string(text.size()) +
                  " bytes, too few to hold out a tenth and train on model.context=" +
                  std::to_string(options.model.context) + " and one more");
  return text;
}

/// The batches of one data-parallel rank. Each call overwrites the last batch.
///
/// A batch is cut over dp as contiguous parts, so the sequences of a step depend on the seed alone, not on
/// the mesh.
class Batches {
 public:
  Batches(const Text& text, const Options& options, int dp_rank)
      : text_(text),
        options_(options),
        sequences_(options.local_batch()),
        context_(options.model.context),
        first_(dp_rank * sequences_) {
    const auto tokens = static_cast<std::size_t>(sequences_ * context_);
    inputs_.resize(tokens);
    targets_.resize(tokens);
    weights_.resize(tokens);
  }

  /// Sequence j of step s (from 0) starts at a random byte of the training part, drawn by number s *
  /// train.batch + j.
  triax::Batch<triax::Host> training(std::int64_t step) {
    const auto starts = static_cast<std::uint64_t>(text_.training() - context_);
    for (std::int64_t i = 0; i < sequences_; ++i) {
      const auto number = static_cast<std::uint64_t>(step * options_.train.batch + first_ + i);
      const std::uint64_t start = triax::random_below(starts, options_.train.seed, number);
      load(i, static_cast<std::int64_t>(start), text_.training());
    }
    return batch();
  }

  /// How many batches a validation has.
  std::int64_t validations() const {
    const std::int64_t windows = (text_.held_out() + context_ - 1) / context_;
    const std::int64_t all = (windows + options_.train.batch - 1) / options_.train.batch;
    return options_.eval.batches > 0 && options_.eval.batches < all ? options_.eval.batches : all;
  }
  /// Batch number `index` of the held-out part, in windows of `context` targets that do not overlap. Each
  /// input starts at the byte before its first target; what lies beyond the end of the text has weight 0.
  triax::Batch<triax::Host> validation(std::int64_t index) {
    for (std::int64_t i = 0; i < sequences_; ++i) {
      const std::int64_t window = index * options_.train.batch + first_ + i;
      load(i, text_.training() - 1 + window * context_, text_.size());
    }
    return batch();
  }

 private:
  /// Sequence i reads the bytes from `start` on; its targets, one byte later, end before `end`.
  void load(std::int64_t i, std::int64_t start, std::int64_t end) {
    for (std::int64_t t = 0; t < context_; ++t) {
      const auto at = static_cast<std::size_t>(i * context_ + t);
      const std::int64_t target = start + t + 1;
      const bool counts = target < end;
      inputs_[at] = counts ? text_[target - 1] : 0;
      targets_[at] = counts ? text_[target] : 0;
      weights_[at] = counts ? 1.0F : 0.0F;
    }
  }
  triax::Batch<triax::Host> batch() const {
    const triax::Shape shape{sequences_, context_};
    return {triax::Batch<triax::Host>::Tokens{inputs_.data(), shape},
            triax::Batch<triax::Host>::Tokens{targets_.data(), shape},
            triax::Batch<triax::Host>::Values{weights_.data(), shape}};
  }

  const Text& text_;
  const Options& options_;
  std::int64_t sequences_, context_;
  std::int64_t first_;  // number of this rank's first sequence in a batch
  std::vector<std::int32_t> inputs_, targets_;
  std::vector<float> weights_;
};

}  // namespace train_gpt
