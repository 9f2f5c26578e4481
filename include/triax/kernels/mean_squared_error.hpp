// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Squared differences between rows and their targets: a mean over features, a sum over tokens.

#pragma once

#include <concepts>
#include <cstdint>

#include <triax/core/step_state.hpp>
#include <triax/kernels/operands.hpp>
#include <triax/kernels/rows.hpp>
#include <triax/kernels/tokens.hpp>

namespace triax {

namespace detail {

// x - target in the arithmetic of T; targets are floats, whatever T is.
template <ComputeType T, class Which>
simd::Vector<T> difference(const T* x, const float* target, Which which) {
  if constexpr (std::same_as<T, double>) {
    double wide[simd::lanes<double>]{};
    int count = simd::lanes<double>;
    if constexpr (std::same_as<Which, simd::First>) count = which.count;
    for (int i = 0; i < count; ++i) wide[i] = static_cast<double>(target[i]);
    return simd::load(x, which) - simd::load(wide);
  } else {
    return simd::load(x, which) - simd::load(target, which);
  }
}

}  // namespace detail

template <ComputeType T>
struct MeanSquaredErrorKernel {
  const T* x;
  const float* targets;
  const float* weights;
  LossSum* loss;
  std::int64_t rows, columns;

  void operator()() const {
    LossSum total;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto weight = static_cast<double>(token_weight(weights, nullptr, 0, row));
      if (weight == 0) continue;
      const auto squares = simd::row_sum<T>(columns, [&](std::int64_t i, auto which) {
        const simd::Vector<T> d =
            detail::difference(x + row * columns + i, targets + row * columns + i, which);
        return d * d;
      });
      total.sum += weight * static_cast<double>(squares) / static_cast<double>(columns);
      total.weight += weight;
    }
    *loss = total;
  }
};

/// loss = the sum over rows of weight * mean over columns of (x - target)^2, and the sum of the weights.
/// `weights` has one number per row; null means 1. A row of weight 0 is not read.
template <class Device, class X>
void mean_squared_error(Device& device, Tensor<X, Device> x, Tensor<const float, Device> targets,
                        Tensor<const float, Device> weights, Tensor<LossSum, Device> loss) {
  using T = typename Tensor<X, Device>::value_type;
  require_equal_size("mean_squared_error", x.shape(), targets.shape());
  device.launch(
      MeanSquaredErrorKernel<T>{x.data(), targets.data(), weights.data(), loss.data(), x.rows(), x.columns()},
      {3.0 * static_cast<double>(x.size()), traffic(x, targets, weights, loss)});
}

template <ComputeType T>
struct MeanSquaredErrorGradientKernel {
  using Accumulator = accumulator_t<T>;

  const T* x;
  const float* targets;
  const float* weights;
  const float* seed;
  T* gradient;
  std::int64_t rows, columns;

  void operator()() const {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const g = gradient + row * columns;
      const float weight = token_weight(weights, nullptr, 0, row);
      if (weight == 0) {
        for (std::int64_t i = 0; i < columns; ++i) g[i] = T{};
        continue;
      }
      const Accumulator factor = 2 * static_cast<Accumulator>(weight) * static_cast<Accumulator>(*seed) /
                                 static_cast<Accumulator>(columns);
      simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
        const simd::Vector<T> d =
            detail::difference(x + row * columns + i, targets + row * columns + i, which);
        simd::store(g + i, d * factor, which);
      });
    }
  }
};

/// gradient = the gradient of mean_squared_error times *seed, which is read where the kernel runs. A row of
/// weight 0 gets zeros.
template <class Device, class X, ComputeType T>
void mean_squared_error_gradient(Device& device, Tensor<X, Device> x, Tensor<const float, Device> targets,
                                 Tensor<const float, Device> weights, const float* seed,
                                 Tensor<T, Device> gradient) {
  require_equal_size("mean_squared_error_gradient", x.shape(), gradient.shape());
  require_equal_size("mean_squared_error_gradient", x.shape(), targets.shape());
  device.launch(MeanSquaredErrorGradientKernel<T>{x.data(), targets.data(), weights.data(), seed,
                                                  gradient.data(), x.rows(), x.columns()},
                {2.0 * static_cast<double>(x.size()), traffic(x, targets, weights, gradient)});
}

}  // namespace triax
