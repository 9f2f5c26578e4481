// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Activation functions and their kernels, alone and fused with the bias before them.
//
// An activation function has value(x) and derivative(x) on vectors of float or double.

#pragma once

#include <cstdint>
#include <type_traits>

#include <triax/kernels/elementwise.hpp>
#include <triax/kernels/exponential.hpp>
#include <triax/kernels/operands.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

/// The Gaussian error linear unit in its tanh form, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))):
/// Hendrycks and Gimpel, "Gaussian error linear units (GELUs)", 2016, section 2.
///
/// As (1 + tanh(u)) / 2 is the logistic function of 2 u, it costs one exponential and one division.
struct GeluTanh {
  static constexpr double flops = 20;  ///< of a value; a derivative costs half as much again

  template <class V>
  static V value(V x) {
    return x / (simd::exp(exponent(x)) + 1);
  }
  template <class V>
  static V derivative(V x) {
    const V power = simd::exp(exponent(x));
    const V logistic = 1 / (power + 1);
    const V slope = (x * x) * scalar<V>(3 * 0.044715 * twice_root) + scalar<V>(twice_root);
    return logistic +
           x * logistic * (power * logistic) * slope;  // power * logistic = 1 - logistic, uncancelled
  }

 private:
  static constexpr double twice_root = 1.5957691216057308;  // 2 sqrt(2 / pi)

  template <class V>
  using Scalar = std::remove_cvref_t<decltype(V{}[0])>;
  template <class V>
  static constexpr Scalar<V> scalar(double value) {
    return static_cast<Scalar<V>>(value);
  }
  template <class V>
  static V exponent(V x) {
    return x * ((x * x) * scalar<V>(-0.044715 * twice_root) - scalar<V>(twice_root));
  }
};

/// max(x, 0), whose derivative at 0 is 0. A NaN stays one.
struct Rectifier {
  static constexpr double flops = 1;

  template <class V>
  static V value(V x) {
    return simd::maximum(V{}, x);
  }
  template <class V>
  static V derivative(V x) {
    return x > V{} ? V{} + 1 : V{};
  }
};

template <class Function, ComputeType T>
struct ActivationKernel {
  const T* x;
  T* y;
  std::int64_t size;

  void operator()() const {
    simd::for_each_vector<T>(size, [&](std::int64_t i, auto which) {
      simd::store(y + i, Function::value(simd::load(x + i, which)), which);
    });
  }
};

/// y = f(x)
template <class Function, class Device, class X, ComputeType T>
void activation(Device& device, Function, Tensor<X, Device> x, Tensor<T, Device> y) {
  require_equal_size("activation", x.shape(), y.shape());
  device.launch(ActivationKernel<Function, T>{x.data(), y.data(), y.size()},
                {Function::flops * static_cast<double>(y.size()), traffic(x, y)});
}

template <class Function, ComputeType T>
struct ActivationGradientKernel {
  const T* x;
  const T* dy;
  T* dx;
  std::int64_t size;

  void operator()() const {
    simd::for_each_vector<T>(size, [&](std::int64_t i, auto which) {
      const auto derivative = Function::derivative(simd::load(x + i, which));
      simd::store(dx + i, simd::load(dy + i, which) * derivative, which);
    });
  }
};

/// dx = dy f'(x); dx may be dy.
template <class Function, class Device, class X, class D, ComputeType T>
void activation_gradient(Device& device, Function, Tensor<X, Device> x, Tensor<D, Device> dy,
                         Tensor<T, Device> dx) {
  require_equal_size("activation_gradient", x.shape(), dy.shape());
  require_equal_size("activation_gradient", x.shape(), dx.shape());
  device.launch(ActivationGradientKernel<Function, T>{x.data(), dy.data(), dx.data(), dx.size()},
                {1.5 * Function::flops * static_cast<double>(dx.size()), traffic(x, dy, dx)});
}

template <class Function, ComputeType T>
struct BiasActivationKernel {
  const T* bias;
  T* x;
  T* y;
  std::int64_t rows, columns;

  void operator()() const {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const x_row = x + row * columns;
      T* const y_row = y + row * columns;
      simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
        simd::store(x_row + i, simd::load(x_row + i, which) + simd::load(bias + i, which), which);
        // Read again: the function must see the rounded sum, as the gradient will.
        simd::store(y_row + i, Function::value(simd::load(x_row + i, which)), which);
      });
    }
  }
};

/// x += bias in every row, then y = f(x).
template <class Function, class Device, class B, ComputeType T>
void bias_activation(Device& device, Function, Tensor<B, Device> bias, Tensor<T, Device> x,
                     Tensor<T, Device> y) {
  require_row("bias_activation", bias.shape(), x.shape());
  require_equal_size("bias_activation", x.shape(), y.shape());
  device.launch(BiasActivationKernel<Function, T>{bias.data(), x.data(), y.data(), x.rows(), x.columns()},
                {(1 + Function::flops) * static_cast<double>(x.size()), traffic(bias, x, x, y)});
}

template <class Function, ComputeType T>
struct BiasActivationGradientKernel {
  const T* x;
  T* dx;
  accumulator_t<T>* bias_gradient;
  std::int64_t rows, columns;

  void operator()() const {
    detail::add_column_sums<T>(
        rows, columns, bias_gradient, [&](std::int64_t row, std::int64_t i, auto which) {
          const T* const x_at = x + row * columns + i;
          T* const dx_at = dx + row * columns + i;
          simd::store(dx_at, simd::load(dx_at, which) * Function::derivative(simd::load(x_at, which)), which);
          return simd::load(
              dx_at, which);  // what is summed is the rounded product, as add_bias_gradient would see it
        });
  }
};

/// dx *= f'(x), then bias_gradient += the sum of dx's rows: the gradient of bias_activation. A null bias
/// gradient is left out.
template <class Function, class Device, class X, ComputeType T, class A>
void bias_activation_gradient(Device& device, Function function, Tensor<X, Device> x, Tensor<T, Device> dx,
                              Tensor<A, Device> bias_gradient) {
  if (!bias_gradient) return activation_gradient(device, function, x, dx, dx);
  require_row("bias_activation_gradient", bias_gradient.shape(), x.shape());
  require_equal_size("bias_activation_gradient", x.shape(), dx.shape());
  device.launch(
      BiasActivationGradientKernel<Function, T>{x.data(), dx.data(), bias_gradient.data(), x.rows(),
                                                x.columns()},
      {(1 + 1.5 * Function::flops) * static_cast<double>(x.size()), traffic(x, dx, dx, bias_gradient)});
}

}  // namespace triax
