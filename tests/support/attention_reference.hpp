// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Causal self-attention and its gradient by definition, in double.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace triax::test {

struct AttentionResult {
  std::vector<double> output;     ///< {sequences, tokens, heads * width}
  std::vector<double> logsumexp;  ///< {sequences, heads, tokens}
  std::vector<double> d_qkv;      ///< {sequences, tokens, 3 * heads * width}
};

/// From qkv {sequences, tokens, 3 * heads * width} and the gradient of the output.
inline AttentionResult attention_reference(const std::vector<double>& qkv,
                                           const std::vector<double>& d_output, std::int64_t sequences,
                                           std::int64_t tokens, std::int64_t heads, std::int64_t width) {
  const std::int64_t features = heads * width;
  AttentionResult result{std::vector<double>(d_output.size()),
                         std::vector<double>(static_cast<std::size_t>(sequences * heads * tokens)),
                         std::vector<double>(qkv.size())};
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t h = 0; h < heads; ++h) {
      // Where feature 0 of a token's query (0), key (1) or value (2) lies, and of its output.
      const auto fused = [&](std::int64_t token, std::int64_t part) {
        return static_cast<std::size_t>(((s * tokens + token) * 3 + part) * features + h * width);
      };
      const auto out = [&](std::int64_t token) {
        return static_cast<std::size_t>((s * tokens + token) * features + h * width);
      };
      for (std::int64_t i = 0; i < tokens; ++i) {
        std::vector<double> p, dp;
        for (std::int64_t j = 0; j <= i; ++j) {
          double score = 0, gradient = 0;
          for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) {
            score += qkv[fused(i, 0) + c] * qkv[fused(j, 1) + c] * scale;
            gradient += d_output[out(i) + c] * qkv[fused(j, 2) + c];
          }
          p.push_back(score);
          dp.push_back(gradient);
        }
        const double maximum = *std::max_element(p.begin(), p.end());
        double sum = 0, mean = 0;
        for (double& score : p) sum += score = std::exp(score - maximum);
        result.logsumexp[static_cast<std::size_t>((s * heads + h) * tokens + i)] = maximum + std::log(sum);
        for (std::size_t j = 0; j < p.size(); ++j) mean += (p[j] /= sum) * dp[j];
        for (std::int64_t j = 0; j <= i; ++j) {
          const double probability = p[static_cast<std::size_t>(j)];
          const double ds = probability * (dp[static_cast<std::size_t>(j)] - mean) * scale;
          for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) {
            result.output[out(i) + c] += probability * qkv[fused(j, 2) + c];
            result.d_qkv[fused(i, 0) + c] += ds * qkv[fused(j, 1) + c];
            result.d_qkv[fused(j, 1) + c] += ds * qkv[fused(i, 0) + c];
            result.d_qkv[fused(j, 2) + c] += probability * d_output[out(i) + c];
          }
        }
      }
    }
  }
  return result;
}

}  // namespace triax::test
