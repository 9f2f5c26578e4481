// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Lets a trained model write.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <triax/core/random.hpp>
#include <triax/device/host.hpp>
#include <triax/nn/batch.hpp>

#include "options.hpp"
#include "text.hpp"

namespace train_gpt {

/// Draws a byte from the softmax of logits / temperature; `uniform` is in [0, 1).
template <class T>
std::int32_t draw(std::span<T> logits, double temperature, double uniform) {
  double maximum = -HUGE_VAL;
  for (const T& logit : logits) maximum = std::fmax(maximum, static_cast<double>(static_cast<float>(logit)));
  std::vector<double> likelihood;
  double sum = 0;
  for (const T& logit : logits) {
    likelihood.push_back(std::exp((static_cast<double>(static_cast<float>(logit)) - maximum) / temperature));
    sum += likelihood.back();
  }
  double rest = uniform * sum;
  std::size_t byte = 0;
  while (byte + 1 < likelihood.size() && rest >= likelihood[byte]) rest -= likelihood[byte++];
  return static_cast<std::int32_t>(byte);
}

/// What the model writes after the last `context` bytes of its training text. Every rank draws the same
/// bytes, by numbers that depend on the seed and the byte's place alone, so every layout writes the same
/// text. Collective.
template <class Model>
std::string sample(Model& model, const Text& text, const Options& options) {
  constexpr double temperature = 0.8;
  constexpr std::uint64_t resolution = std::uint64_t{1} << 53;
  const std::int64_t context = options.model.context;
  std::vector<std::int32_t> bytes;
  for (std::int64_t i = text.training() - context; i < text.training(); ++i) bytes.push_back(text[i]);

  std::string written;
  for (int i = 0; i < options.sample.bytes; ++i) {
    const std::int32_t* const window = bytes.data() + i;
    const triax::Batch<triax::Host> batch({window, {1, context}});
    const auto output = model.gather_output(model.forward(batch), batch);
    const auto last = output.stream().reshaped({context, output.stream().columns()}).slice(context - 1, 1);
    const std::uint64_t number = triax::random_below(
        resolution, ~options.train.seed, static_cast<std::uint64_t>(i));  // not the data's numbers
    const double uniform = static_cast<double>(number) / static_cast<double>(resolution);
    bytes.push_back(draw(last.span(), temperature, uniform));
    written += static_cast<char>(bytes.back());
  }
  return written;
}

/// The text with a dot for every control character, which a terminal would obey.
inline std::string printable(std::string text) {
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 32 && c != '\n' && c != '\t') || code == 127) c = '.';
  }
  return text;
}

}  // namespace train_gpt
