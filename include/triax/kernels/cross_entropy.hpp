// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Softmax and cross-entropy in one: the probabilities are never stored.

#pragma once

#include <cmath>
#include <cstdint>

#include <triax/core/step_state.hpp>
#include <triax/kernels/exponential.hpp>
#include <triax/kernels/operands.hpp>
#include <triax/kernels/rows.hpp>
#include <triax/kernels/tokens.hpp>

namespace triax {

/// What counts in a cross-entropy: the targets, how much each token weighs, and which target stands for none.
template <class Device>
struct Targets {
  Tensor<const std::int32_t, Device> tokens{};
  Tensor<const float, Device> weights{};  ///< null: each token weighs 1
  std::int32_t ignore = -1;
};

template <ComputeType T>
struct CrossEntropyKernel {
  using Accumulator = accumulator_t<T>;

  const T* logits;
  const std::int32_t* targets;
  const float* weights;
  LossSum* loss;
  Accumulator* maximum;
  Accumulator* normaliser;
  std::int64_t rows, classes;
  std::int32_t ignore;

  void operator()() const {
    LossSum total;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float weight = token_weight(weights, targets, ignore, row);
      if (weight == 0) continue;
      const std::int32_t target = targets[row];
      if (target < 0 || target >= classes) throw_out_of_range("target", target, row, classes);
      const T* const x = logits + row * classes;
      const Accumulator largest = simd::row_largest(x, classes);
      const Accumulator sum = simd::row_sum<T>(
          classes, [&](std::int64_t i, auto which) { return simd::exp(simd::load(x + i, which) - largest); });
      maximum[row] = largest;
      normaliser[row] = 1 / sum;
      total.sum += static_cast<double>(weight) *
                   static_cast<double>(std::log(sum) + (largest - static_cast<Accumulator>(x[target])));
      total.weight += static_cast<double>(weight);
    }
    *loss = total;
  }
};

/// loss = the weighted sum over rows of log(sum of exp(logits)) - logits[target], and the sum of the weights.
/// `maximum` and `normaliser` = 1 / sum of exp(logits - maximum), one number per row, are what
/// cross_entropy_gradient needs.
///
/// A row of weight 0 or with the target `ignore` is not read. Throws ShapeError for any other target that
/// names no class.
template <class Device, class X, class A>
void cross_entropy(Device& device, Tensor<X, Device> logits, const Targets<Device>& targets,
                   Tensor<LossSum, Device> loss, Tensor<A, Device> maximum, Tensor<A, Device> normaliser) {
  using T = typename Tensor<X, Device>::value_type;
  device.launch(CrossEntropyKernel<T>{logits.data(), targets.tokens.data(), targets.weights.data(),
                                      loss.data(), maximum.data(), normaliser.data(), logits.rows(),
                                      logits.columns(), targets.ignore},
                {4.0 * static_cast<double>(logits.size()),
                 traffic(logits, targets.tokens, targets.weights, loss, maximum, normaliser)});
}

template <ComputeType T>
struct CrossEntropyGradientKernel {
  using Accumulator = accumulator_t<T>;

  const T* logits;
  const std::int32_t* targets;
  const float* weights;
  const Accumulator* maximum;
  const Accumulator* normaliser;
  const float* seed;
  T* gradient;
  std::int64_t rows, classes;
  std::int32_t ignore;

  // The gradient of a row is weight * seed * (softmax - 1 at the target).
  void operator()() const {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const g = gradient + row * classes;
      const float weight = token_weight(weights, targets, ignore, row);
      if (weight == 0) {
        for (std::int64_t i = 0; i < classes; ++i) g[i] = T{};
        continue;
      }
      const T* const x = logits + row * classes;
      const Accumulator largest = maximum[row];
      const Accumulator scale = static_cast<Accumulator>(weight) * static_cast<Accumulator>(*seed);
      const Accumulator share = scale * normaliser[row];
      const auto softmax = [&](simd::Vector<T> logit) -> simd::Vector<T> {
        return simd::exp(logit - largest) * share;
      };
      simd::for_each_vector<T>(classes, [&](std::int64_t i, auto which) {
        simd::store(g + i, softmax(simd::load(x + i, which)), which);
      });
      const std::int32_t target = targets[row];
      const auto logit = static_cast<Accumulator>(x[target]);
      g[target] = static_cast<T>(softmax(simd::broadcast(logit))[0] - scale);
    }
  }
};

/// gradient = the gradient of cross_entropy times *seed, which is read where the kernel runs. A row that does
/// not count gets zeros.
template <class Device, class X, class A, ComputeType T>
void cross_entropy_gradient(Device& device, Tensor<X, Device> logits, const Targets<Device>& targets,
                            Tensor<A, Device> maximum, Tensor<A, Device> normaliser, const float* seed,
                            Tensor<T, Device> gradient) {
  require_equal_size("cross_entropy_gradient", logits.shape(), gradient.shape());
  device.launch(CrossEntropyGradientKernel<T>{logits.data(), targets.tokens.data(), targets.weights.data(),
                                              maximum.data(), normaliser.data(), seed, gradient.data(),
                                              logits.rows(), logits.columns(), targets.ignore},
                {5.0 * static_cast<double>(logits.size()),
                 traffic(logits, targets.tokens, targets.weights, maximum, normaliser, gradient)});
}

}  // namespace triax
