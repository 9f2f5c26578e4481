// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Weights with gradients, and their updates, in plain loops that share nothing with the library.

#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace triax::test {

template <class Real>
class ReferenceWeights {
 public:
  using Numbers = std::vector<Real>;

  struct Weights {
    Numbers value{}, gradient{};
    Numbers first_moment{}, second_moment{};
    bool decays = true;
  };

  /// By path. The same weights are there once, however often a model uses them.
  std::map<std::string, Weights>& weights() { return weights_; }
  Weights& weights(const std::string& path) { return weights_.at(path); }

  void zero_gradients() {
    for (auto& [path, weights] : weights_) weights.gradient.assign(weights.gradient.size(), 0);
  }

  /// The L2 norm of the whole gradient.
  double norm() const {
    double squares = 0;
    for (const auto& [path, weights] : weights_)
      for (const Real g : weights.gradient) squares += static_cast<double>(g) * static_cast<double>(g);
    return std::sqrt(squares);
  }
  /// Shortens the gradient to `limit` if its norm is larger.
  void clip_norm(double limit) {
    const double factor = limit / norm();
    if (factor >= 1) return;
    for (auto& [path, weights] : weights_)
      for (Real& g : weights.gradient) g *= static_cast<Real>(factor);
  }

  /// One update by gradient descent with momentum; the decay is L2, as in torch.optim.SGD.
  void sgd(double rate, double momentum = 0, double decay = 0, bool nesterov = false) {
    for (auto& [path, weights] : weights_)
      for (std::size_t i = 0; i < weights.value.size(); ++i) {
        const Real g = weights.gradient[i] + static_cast<Real>(weights.decays ? decay : 0) * weights.value[i];
        Real& buffer = weights.first_moment[i];
        buffer = static_cast<Real>(momentum) * buffer + g;
        weights.value[i] -=
            static_cast<Real>(rate) * (nesterov ? g + static_cast<Real>(momentum) * buffer : buffer);
      }
  }

  struct AdamWOptions {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0.01;
  };
  /// One update by AdamW, as torch.optim.AdamW; biases and norms do not decay.
  void adamw(double rate, const AdamWOptions& options = {}) {
    ++adamw_steps_;
    const double correction1 = 1 - std::pow(options.beta1, adamw_steps_);
    const double correction2 = 1 - std::pow(options.beta2, adamw_steps_);
    for (auto& [path, weights] : weights_)
      for (std::size_t i = 0; i < weights.value.size(); ++i) {
        const Real g = weights.gradient[i];
        Real& m = weights.first_moment[i];
        Real& v = weights.second_moment[i];
        m = static_cast<Real>(options.beta1) * m + static_cast<Real>(1 - options.beta1) * g;
        v = static_cast<Real>(options.beta2) * v + static_cast<Real>(1 - options.beta2) * g * g;
        weights.value[i] *= static_cast<Real>(1 - (weights.decays ? rate * options.decay : 0));
        const Real spread =
            std::sqrt(v / static_cast<Real>(correction2)) + static_cast<Real>(options.epsilon);
        weights.value[i] -= static_cast<Real>(rate) * (m / static_cast<Real>(correction1)) / spread;
      }
  }

 protected:
  void add_weights(const std::string& path, std::size_t count, bool decays, Real value = 0) {
    weights_[path] = {Numbers(count, value), Numbers(count), Numbers(count), Numbers(count), decays};
  }
  const Numbers& value(const std::string& path) const { return weights_.at(path).value; }

 private:
  std::map<std::string, Weights> weights_{};
  int adamw_steps_ = 0;
};

}  // namespace triax::test
