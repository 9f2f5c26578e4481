// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A GPT on one rank with its training, in plain loops over vectors. It shares nothing with the library, not a
// line, so that whole models can be compared with it: losses, gradients and weights, step by step.
//
// The model: learned token and position embeddings; blocks x + attention(norm(x)), x + mlp(norm(x)) with
// biases in all linear layers and GELU in its tanh form; a final norm; a head without bias, tied to the token
// embedding or not.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/reference_weights.hpp"

namespace triax::test {

struct ReferenceSizes {
  std::size_t vocabulary = 256;
  std::size_t width = 16;
  std::size_t heads = 2;
  std::size_t context = 8;
  std::size_t blocks = 2;
  bool tied = true;
};

struct ReferenceBatch {
  std::size_t sequences = 0;
  std::size_t tokens = 0;
  std::vector<std::int32_t> inputs{};
  std::vector<std::int32_t> targets{};  ///< -1: none
  std::vector<float> weights{};         ///< empty: each token weighs 1
};

struct ReferenceLoss {
  double sum = 0;     ///< of weight * cross-entropy over tokens
  double weight = 0;  ///< of all tokens
};

/// Its weights have the paths that parameters have in a model of {Embedding,
/// Repeat<Block<Residual<Block<LayerNorm, CausalSelfAttention>>, Residual<Block<LayerNorm, Mlp>>>>,
/// LayerNorm, VocabularyHead}: "<entry>.<copy>.<name>". Matrices are [in, out], row-major. A tied head has no
/// weights of its own.
template <class Real>
class ReferenceGpt : public ReferenceWeights<Real> {
  using Base = ReferenceWeights<Real>;

 public:
  using Base::weights;
  using Base::zero_gradients;
  using typename Base::Numbers;
  using typename Base::Weights;

  /// All weights are 0 and all norms' scales 1 until someone writes them.
  explicit ReferenceGpt(const ReferenceSizes& sizes) : sizes_(sizes) {
    const std::size_t width = sizes.width;
    const auto add = [this](const auto&... arguments) { this->add_weights(arguments...); };
    const auto add_norm = [&](const std::string& name) {
      add(name + ".scale", width, false, Real{1});
      add(name + ".shift", width, false);
    };
    const auto add_linear = [&](const std::string& name, std::size_t in, std::size_t out) {
      add(name, in * out, true);
      add(name + "_bias", out, false);
    };
    add("0.0.token", sizes.vocabulary * width, true);
    add("0.0.position", sizes.context * width, true);
    for (std::size_t i = 0; i < sizes.blocks; ++i) {
      add_norm(block(i) + ".0.0");
      add_linear(block(i) + ".0.1.qkv", width, 3 * width);
      add_linear(block(i) + ".0.1.out", width, width);
      add_norm(block(i) + ".1.0");
      add_linear(block(i) + ".1.1.up", width, 4 * width);
      add_linear(block(i) + ".1.1.down", 4 * width, width);
    }
    add_norm("2.0");
    if (!sizes.tied) add("3.0.token", sizes.vocabulary * width, true);
  }

  /// The logits of the last forward, {sequences, tokens, vocabulary}.
  const Numbers& logits() const { return logits_; }

  /// The loss of a batch, and what its backward needs.
  ReferenceLoss forward(const ReferenceBatch& batch) {
    batch_ = batch;
    const std::size_t rows = batch.sequences * batch.tokens;
    const Numbers& token = value("0.0.token");
    const Numbers& position = value("0.0.position");
    Numbers x(rows * sizes_.width);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < sizes_.width; ++c)
        x[r * sizes_.width + c] =
            token[input(r) * sizes_.width + c] + position[r % batch.tokens * sizes_.width + c];

    kept_.assign(sizes_.blocks, {});
    for (std::size_t i = 0; i < sizes_.blocks; ++i) {
      Kept& kept = kept_[i];
      kept.norm1 = normalise(x, block(i) + ".0.0");
      kept.qkv = linear(kept.norm1.y, block(i) + ".0.1.qkv");
      kept.attended = attend(kept.qkv, kept.probabilities);
      x = sum(x, linear(kept.attended, block(i) + ".0.1.out"));
      kept.norm2 = normalise(x, block(i) + ".1.0");
      kept.hidden = linear(kept.norm2.y, block(i) + ".1.1.up");
      kept.activated.clear();
      for (const Real h : kept.hidden) kept.activated.push_back(h * (1 + std::tanh(gelu_argument(h))) / 2);
      x = sum(x, linear(kept.activated, block(i) + ".1.1.down"));
    }
    last_norm_ = normalise(x, "2.0");

    const Numbers& head = value(head_name());
    logits_.assign(rows * sizes_.vocabulary, 0);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < sizes_.vocabulary; ++v)
        for (std::size_t c = 0; c < sizes_.width; ++c)
          logits_[r * sizes_.vocabulary + v] +=
              last_norm_.y[r * sizes_.width + c] * head[v * sizes_.width + c];

    ReferenceLoss loss;
    for (std::size_t r = 0; r < rows; ++r) {
      if (token_weight(r) == 0) continue;
      const Real* row = logits_.data() + r * sizes_.vocabulary;
      loss.sum += token_weight(r) * static_cast<double>(log_sum_exp(row) - row[batch.targets[r]]);
      loss.weight += token_weight(r);
    }
    return loss;
  }

  /// Adds `factor` times the gradient of the last forward's loss sum to the gradients.
  void backward(Real factor) {
    const std::size_t rows = batch_.sequences * batch_.tokens;
    const std::size_t width = sizes_.width;
    Weights& head = weights(head_name());
    Numbers d(rows * width);
    for (std::size_t r = 0; r < rows; ++r) {
      const Real weight = static_cast<Real>(token_weight(r)) * factor;
      if (weight == 0) continue;
      const Real* row = logits_.data() + r * sizes_.vocabulary;
      const Real normaliser = log_sum_exp(row);
      for (std::size_t v = 0; v < sizes_.vocabulary; ++v) {
        const bool hit = static_cast<std::int32_t>(v) == batch_.targets[r];
        const Real d_logit = weight * (std::exp(row[v] - normaliser) - (hit ? 1 : 0));
        for (std::size_t c = 0; c < width; ++c) {
          d[r * width + c] += d_logit * head.value[v * width + c];
          head.gradient[v * width + c] += d_logit * last_norm_.y[r * width + c];
        }
      }
    }
    d = normalise_backward(d, last_norm_, "2.0");

    for (std::size_t i = sizes_.blocks; i-- > 0;) {
      const Kept& kept = kept_[i];
      Numbers d_hidden = linear_backward(d, kept.activated, block(i) + ".1.1.down");
      for (std::size_t k = 0; k < d_hidden.size(); ++k) d_hidden[k] *= gelu_derivative(kept.hidden[k]);
      const Numbers d_norm2 = linear_backward(d_hidden, kept.norm2.y, block(i) + ".1.1.up");
      d = sum(d, normalise_backward(d_norm2, kept.norm2, block(i) + ".1.0"));
      const Numbers d_attended = linear_backward(d, kept.attended, block(i) + ".0.1.out");
      const Numbers d_qkv = attend_backward(d_attended, kept.qkv, kept.probabilities);
      const Numbers d_norm1 = linear_backward(d_qkv, kept.norm1.y, block(i) + ".0.1.qkv");
      d = sum(d, normalise_backward(d_norm1, kept.norm1, block(i) + ".0.0"));
    }

    Numbers& token = weights("0.0.token").gradient;
    Numbers& position = weights("0.0.position").gradient;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < width; ++c) {
        token[input(r) * width + c] += d[r * width + c];
        position[r % batch_.tokens * width + c] += d[r * width + c];
      }
  }

  /// The gradients of the mean loss over the weighted tokens, and that loss.
  double loss_and_gradients(const ReferenceBatch& batch) {
    zero_gradients();
    const ReferenceLoss loss = forward(batch);
    if (loss.weight == 0) return 0;
    backward(static_cast<Real>(1 / loss.weight));
    return loss.sum / loss.weight;
  }

 private:
  struct Norm {
    Numbers x{}, y{}, mean{}, rstd{};
  };
  struct Kept {
    Norm norm1{}, norm2{};
    Numbers qkv{}, probabilities{}, attended{}, hidden{}, activated{};
  };

  using Base::value;

  static std::string block(std::size_t i) { return "1." + std::to_string(i); }
  std::string head_name() const { return sizes_.tied ? "0.0.token" : "3.0.token"; }
  std::size_t input(std::size_t row) const { return static_cast<std::size_t>(batch_.inputs[row]); }
  double token_weight(std::size_t row) const {
    if (batch_.targets[row] < 0) return 0;
    return batch_.weights.empty() ? 1 : static_cast<double>(batch_.weights[row]);
  }

  static Numbers sum(Numbers a, const Numbers& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  Real log_sum_exp(const Real* row) const {
    Real largest = row[0];
    for (std::size_t v = 1; v < sizes_.vocabulary; ++v) largest = std::fmax(largest, row[v]);
    Real total = 0;
    for (std::size_t v = 0; v < sizes_.vocabulary; ++v) total += std::exp(row[v] - largest);
    return largest + std::log(total);
  }

  static constexpr double root = 0.7978845608028654;  // sqrt(2 / pi)
  static Real gelu_argument(Real x) {
    return static_cast<Real>(root) * (x + static_cast<Real>(0.044715) * x * x * x);
  }
  static Real gelu_derivative(Real x) {
    const Real t = std::tanh(gelu_argument(x));
    const Real slope = static_cast<Real>(root) * (1 + 3 * static_cast<Real>(0.044715) * x * x);
    return (1 + t) / 2 + x * (1 - t * t) * slope / 2;
  }

  Numbers linear(const Numbers& x, const std::string& name) const {
    const Numbers& matrix = value(name);
    const Numbers& bias = value(name + "_bias");
    const std::size_t out = bias.size();
    const std::size_t in = matrix.size() / out;
    const std::size_t rows = x.size() / in;
    Numbers y(rows * out);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t j = 0; j < out; ++j) y[r * out + j] = bias[j];
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t j = 0; j < out; ++j) y[r * out + j] += x[r * in + i] * matrix[i * out + j];
    }
    return y;
  }
  Numbers linear_backward(const Numbers& dy, const Numbers& x, const std::string& name) {
    Weights& matrix = weights(name);
    Numbers& bias_gradient = weights(name + "_bias").gradient;
    const std::size_t out = bias_gradient.size();
    const std::size_t in = matrix.value.size() / out;
    Numbers dx(x.size());
    for (std::size_t r = 0; r < x.size() / in; ++r) {
      for (std::size_t j = 0; j < out; ++j) bias_gradient[j] += dy[r * out + j];
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t j = 0; j < out; ++j) {
          dx[r * in + i] += dy[r * out + j] * matrix.value[i * out + j];
          matrix.gradient[i * out + j] += dy[r * out + j] * x[r * in + i];
        }
    }
    return dx;
  }

  Norm normalise(const Numbers& x, const std::string& name) const {
    const Numbers& scale = value(name + ".scale");
    const Numbers& shift = value(name + ".shift");
    const std::size_t n = scale.size();
    Norm norm{x, Numbers(x.size()), {}, {}};
    for (std::size_t at = 0; at < x.size(); at += n) {
      Real mean = 0;
      Real variance = 0;
      for (std::size_t i = 0; i < n; ++i) mean += x[at + i] / static_cast<Real>(n);
      for (std::size_t i = 0; i < n; ++i)
        variance += (x[at + i] - mean) * (x[at + i] - mean) / static_cast<Real>(n);
      const Real rstd = 1 / std::sqrt(variance + static_cast<Real>(1e-5));
      for (std::size_t i = 0; i < n; ++i) norm.y[at + i] = (x[at + i] - mean) * rstd * scale[i] + shift[i];
      norm.mean.push_back(mean);
      norm.rstd.push_back(rstd);
    }
    return norm;
  }
  Numbers normalise_backward(const Numbers& dy, const Norm& norm, const std::string& name) {
    Weights& scale = weights(name + ".scale");
    Numbers& shift_gradient = weights(name + ".shift").gradient;
    const std::size_t n = shift_gradient.size();
    Numbers dx(dy.size());
    for (std::size_t row = 0; row < norm.mean.size(); ++row) {
      const std::size_t at = row * n;
      const auto normal = [&](std::size_t i) { return (norm.x[at + i] - norm.mean[row]) * norm.rstd[row]; };
      Real mean = 0;
      Real product = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const Real g = dy[at + i] * scale.value[i];
        mean += g / static_cast<Real>(n);
        product += g * normal(i) / static_cast<Real>(n);
        scale.gradient[i] += dy[at + i] * normal(i);
        shift_gradient[i] += dy[at + i];
      }
      for (std::size_t i = 0; i < n; ++i)
        dx[at + i] = norm.rstd[row] * (dy[at + i] * scale.value[i] - mean - normal(i) * product);
    }
    return dx;
  }

  // Calls f(query row, head, query index, first probability) for every query; rows are offsets into qkv.
  template <class F>
  void for_each_query(const F& f) const {
    for (std::size_t s = 0; s < batch_.sequences; ++s)
      for (std::size_t h = 0; h < sizes_.heads; ++h)
        for (std::size_t t = 0; t < batch_.tokens; ++t)
          f(s * batch_.tokens, h, t, ((s * sizes_.heads + h) * batch_.tokens + t) * batch_.tokens);
  }

  // Where the query, key or value (0, 1, 2) of a token and head begins.
  std::size_t place(std::size_t row, std::size_t head, std::size_t which) const {
    return row * 3 * sizes_.width + which * sizes_.width + head * sizes_.width / sizes_.heads;
  }

  Numbers attend(const Numbers& qkv, Numbers& probabilities) const {
    const std::size_t size = sizes_.width / sizes_.heads;
    const Real scale = 1 / std::sqrt(static_cast<Real>(size));
    Numbers y(qkv.size() / 3);
    probabilities.assign(batch_.sequences * sizes_.heads * batch_.tokens * batch_.tokens, 0);
    for_each_query([&](std::size_t first, std::size_t head, std::size_t t, std::size_t at) {
      Real largest = -INFINITY;
      for (std::size_t j = 0; j <= t; ++j) {
        Real score = 0;
        for (std::size_t c = 0; c < size; ++c)
          score += qkv[place(first + t, head, 0) + c] * qkv[place(first + j, head, 1) + c];
        probabilities[at + j] = score * scale;
        largest = std::fmax(largest, score * scale);
      }
      Real total = 0;
      for (std::size_t j = 0; j <= t; ++j) total += std::exp(probabilities[at + j] - largest);
      for (std::size_t j = 0; j <= t; ++j) {
        probabilities[at + j] = std::exp(probabilities[at + j] - largest) / total;
        for (std::size_t c = 0; c < size; ++c)
          y[(first + t) * sizes_.width + head * size + c] +=
              probabilities[at + j] * qkv[place(first + j, head, 2) + c];
      }
    });
    return y;
  }
  Numbers attend_backward(const Numbers& dy, const Numbers& qkv, const Numbers& probabilities) const {
    const std::size_t size = sizes_.width / sizes_.heads;
    const Real scale = 1 / std::sqrt(static_cast<Real>(size));
    Numbers d(qkv.size());
    for_each_query([&](std::size_t first, std::size_t head, std::size_t t, std::size_t at) {
      const Real* d_out = dy.data() + (first + t) * sizes_.width + head * size;
      Numbers d_probability(t + 1);
      Real mean = 0;
      for (std::size_t j = 0; j <= t; ++j) {
        for (std::size_t c = 0; c < size; ++c) {
          d_probability[j] += d_out[c] * qkv[place(first + j, head, 2) + c];
          d[place(first + j, head, 2) + c] += probabilities[at + j] * d_out[c];
        }
        mean += probabilities[at + j] * d_probability[j];
      }
      for (std::size_t j = 0; j <= t; ++j) {
        const Real d_score = probabilities[at + j] * (d_probability[j] - mean) * scale;
        for (std::size_t c = 0; c < size; ++c) {
          d[place(first + t, head, 0) + c] += d_score * qkv[place(first + j, head, 1) + c];
          d[place(first + j, head, 1) + c] += d_score * qkv[place(first + t, head, 0) + c];
        }
      }
    });
    return d;
  }

  const ReferenceSizes sizes_;
  ReferenceBatch batch_{};
  std::vector<Kept> kept_{};
  Norm last_norm_{};
  Numbers logits_{};
};

}  // namespace triax::test
