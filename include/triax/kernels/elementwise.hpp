// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that treat elements alike: fill, copy, cast, add, scale, and bias rows with their gradient.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <triax/kernels/operands.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

template <class T>
struct FillKernel {
  T* y;
  std::int64_t size;
  T value;

  void operator()() const {
    for (std::int64_t i = 0; i < size; ++i) y[i] = value;
  }
};

/// y = value
template <class Device, class T>
void fill(Device& device, Tensor<T, Device> y, std::type_identity_t<T> value) {
  if (y) device.launch(FillKernel<T>{y.data(), y.size(), value}, {0, traffic(y)});
}

template <class T>
struct CopyKernel {
  const T* x;
  T* y;
  std::int64_t size;

  void operator()() const { std::memmove(y, x, static_cast<std::size_t>(size) * sizeof(T)); }
};

/// y = x, of one type.
template <class Device, class X, class T>
  requires std::same_as<std::remove_const_t<X>, T>
void copy(Device& device, Tensor<X, Device> x, Tensor<T, Device> y) {
  if (!y) return;
  require_equal_size("copy", x.shape(), y.shape());
  device.launch(CopyKernel<T>{x.data(), y.data(), y.size()}, {0, traffic(x, y)});
}

template <ComputeType From, ComputeType To>
struct CastKernel {
  const From* x;
  To* y;
  std::int64_t size;

  void operator()() const {
    if constexpr (std::same_as<accumulator_t<From>, accumulator_t<To>>) {
      simd::for_each_vector<To>(
          size, [&](std::int64_t i, auto which) { simd::store(y + i, simd::load(x + i, which), which); });
    } else {
      for (std::int64_t i = 0; i < size; ++i) {
        const auto value = static_cast<accumulator_t<From>>(x[i]);
        y[i] = static_cast<To>(static_cast<accumulator_t<To>>(value));
      }
    }
  }
};

/// y = x, rounded to nearest, ties to even.
template <class Device, class X, ComputeType T>
void cast(Device& device, Tensor<X, Device> x, Tensor<T, Device> y) {
  if (!y) return;
  require_equal_size("cast", x.shape(), y.shape());
  device.launch(CastKernel<std::remove_const_t<X>, T>{x.data(), y.data(), y.size()},
                {static_cast<double>(y.size()), traffic(x, y)});
}

template <ComputeType X, ComputeType T>
struct AddKernel {
  const X* x;
  T* y;
  std::int64_t size;

  void operator()() const {
    simd::for_each_vector<T>(size, [&](std::int64_t i, auto which) {
      simd::store(y + i, simd::load(y + i, which) + simd::load(x + i, which), which);
    });
  }
};

/// y += x. The sum is rounded once to y's type.
template <class Device, class X, ComputeType T>
void add(Device& device, Tensor<X, Device> x, Tensor<T, Device> y) {
  if (!y) return;
  require_equal_size("add", x.shape(), y.shape());
  device.launch(AddKernel<std::remove_const_t<X>, T>{x.data(), y.data(), y.size()},
                {static_cast<double>(y.size()), traffic(x, y, y)});
}

template <ComputeType T>
struct ScaleKernel {
  T* y;
  std::int64_t size;
  accumulator_t<T> factor;

  void operator()() const {
    simd::for_each_vector<T>(size, [&](std::int64_t i, auto which) {
      simd::store(y + i, simd::load(y + i, which) * factor, which);
    });
  }
};

/// y *= factor
template <class Device, ComputeType T>
void scale(Device& device, Tensor<T, Device> y, std::type_identity_t<accumulator_t<T>> factor) {
  if (!y) return;
  device.launch(ScaleKernel<T>{y.data(), y.size(), factor}, {static_cast<double>(y.size()), traffic(y, y)});
}

template <ComputeType T>
struct AddBiasKernel {
  const T* bias;
  T* y;
  std::int64_t rows, columns;

  void operator()() const {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const y_row = y + row * columns;
      simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
        simd::store(y_row + i, simd::load(y_row + i, which) + simd::load(bias + i, which), which);
      });
    }
  }
};

/// Adds `bias` to every row of y. Throws ShapeError when it has not one element per column.
template <class Device, class B, ComputeType T>
void add_bias(Device& device, Tensor<B, Device> bias, Tensor<T, Device> y) {
  if (!y) return;
  require_row("add_bias", bias.shape(), y.shape());
  device.launch(AddBiasKernel<T>{bias.data(), y.data(), y.rows(), y.columns()},
                {static_cast<double>(y.size()), traffic(bias, y, y)});
}

namespace detail {

// sums[i] += the sum over rows of element(row, i, which), a vector from column i on. Row by row, as memory is
// read best; four rows at a time, so that the sums are touched less often.
template <ComputeType T, class Element>
void add_column_sums(std::int64_t rows, std::int64_t columns, accumulator_t<T>* sums,
                     const Element& element) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
      const auto first = element(row, i, which) + element(row + 1, i, which);
      const auto second = element(row + 2, i, which) + element(row + 3, i, which);
      simd::store(sums + i, simd::load(sums + i, which) + (first + second), which);
    });
  }
  for (; row < rows; ++row) {
    simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
      simd::store(sums + i, simd::load(sums + i, which) + element(row, i, which), which);
    });
  }
}

}  // namespace detail

template <ComputeType T>
struct AddBiasGradientKernel {
  const T* dy;
  accumulator_t<T>* gradient;
  std::int64_t rows, columns;

  void operator()() const {
    detail::add_column_sums<T>(rows, columns, gradient, [&](std::int64_t row, std::int64_t i, auto which) {
      return simd::load(dy + row * columns + i, which);
    });
  }
};

/// gradient += the sum of dy's rows: the gradient of add_bias.
template <class Device, class D, class A>
void add_bias_gradient(Device& device, Tensor<D, Device> dy, Tensor<A, Device> gradient) {
  if (!gradient) return;
  require_row("add_bias_gradient", gradient.shape(), dy.shape());
  device.launch(
      AddBiasGradientKernel<std::remove_const_t<D>>{dy.data(), gradient.data(), dy.rows(), dy.columns()},
      {static_cast<double>(dy.size()), traffic(dy, gradient, gradient)});
}

}  // namespace triax
