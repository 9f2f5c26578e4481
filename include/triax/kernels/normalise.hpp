// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Layer normalisation: Ba, Kiros and Hinton, "Layer normalization", 2016, equations 3 and 4.

#pragma once

#include <cmath>
#include <cstdint>

#include <triax/kernels/operands.hpp>
#include <triax/kernels/rows.hpp>

namespace triax {

template <ComputeType T>
struct NormaliseKernel {
  using Accumulator = accumulator_t<T>;

  const T* x;
  const T* scale;
  const T* shift;
  T* y;
  Accumulator* mean;
  Accumulator* deviation;
  std::int64_t rows, columns;
  Accumulator epsilon;

  // Three passes over a row that stays in the first-level cache. The variance is taken about the mean: the
  // difference of two large sums would lose it.
  void operator()() const {
    const Accumulator share = 1 / static_cast<Accumulator>(columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* const x_row = x + row * columns;
      T* const y_row = y + row * columns;
      const Accumulator m = share * simd::row_sum<T>(columns, [&](std::int64_t i, auto which) {
                              return simd::load(x_row + i, which);
                            });
      const Accumulator variance = share * simd::row_sum<T>(columns, [&](std::int64_t i, auto which) {
                                     const simd::Vector<T> d = simd::load(x_row + i, which) - m;
                                     return d * d;
                                   });
      const Accumulator r = 1 / std::sqrt(variance + epsilon);
      simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
        const simd::Vector<T> normal = (simd::load(x_row + i, which) - m) * r;
        simd::store(y_row + i, normal * simd::load(scale + i, which) + simd::load(shift + i, which), which);
      });
      mean[row] = m;
      deviation[row] = r;
    }
  }
};

/// y = (x - mean) * rstd * scale + shift, row by row. `mean` and `rstd` = 1 / sqrt(variance + epsilon), one
/// number per row, are what normalise_gradient needs. Throws ShapeError when scale or shift have not one
/// element per column.
template <class Device, class X, class P, ComputeType T>
void normalise(Device& device, Tensor<X, Device> x, Tensor<P, Device> scale, Tensor<P, Device> shift,
               Tensor<T, Device> y, Tensor<accumulator_t<T>, Device> mean,
               Tensor<accumulator_t<T>, Device> rstd, double epsilon) {
  require_equal_size("normalise", x.shape(), y.shape());
  require_row("normalise", scale.shape(), x.shape());
  require_row("normalise", shift.shape(), x.shape());
  device.launch(NormaliseKernel<T>{x.data(), scale.data(), shift.data(), y.data(), mean.data(), rstd.data(),
                                   x.rows(), x.columns(), static_cast<accumulator_t<T>>(epsilon)},
                {8.0 * static_cast<double>(x.size()), traffic(x, scale, shift, y, mean, rstd)});
}

template <ComputeType T>
struct NormaliseGradientKernel {
  using Accumulator = accumulator_t<T>;

  const T* dy;
  const T* x;
  const Accumulator* mean;
  const Accumulator* deviation;
  const T* scale;
  T* dx;                        ///< null: not wanted
  Accumulator* scale_gradient;  ///< null: not wanted
  Accumulator* shift_gradient;  ///< null: not wanted
  std::int64_t rows, columns;

  // With h = (x - mean) * rstd and g = dy * scale:
  //   dx = rstd * (g - mean(g) - h * mean(g * h)),  dscale = sum over rows of dy * h,  dshift = sum over rows
  //   of dy.
  // One pass over a row makes both means and both parameter gradients, a second one dx.
  void operator()() const {
    const Accumulator share = 1 / static_cast<Accumulator>(columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* const dy_row = dy + row * columns;
      const T* const x_row = x + row * columns;
      const Accumulator m = mean[row];
      const Accumulator r = deviation[row];
      simd::Vector<T> gradient_sum{};
      simd::Vector<T> product_sum{};
      // Lanes beyond the end of the row add nothing, since dy loads as zero there.
      simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
        const simd::Vector<T> d = simd::load(dy_row + i, which);
        const simd::Vector<T> normal = (simd::load(x_row + i, which) - m) * r;
        const simd::Vector<T> g = d * simd::load(scale + i, which);
        gradient_sum += g;
        product_sum += g * normal;
        if (scale_gradient)
          simd::store(scale_gradient + i, simd::load(scale_gradient + i, which) + d * normal, which);
        if (shift_gradient) simd::store(shift_gradient + i, simd::load(shift_gradient + i, which) + d, which);
      });
      if (!dx) continue;
      T* const dx_row = dx + row * columns;
      const Accumulator gradient_mean = share * simd::sum(gradient_sum);
      const Accumulator product_mean = share * simd::sum(product_sum);
      simd::for_each_vector<T>(columns, [&](std::int64_t i, auto which) {
        const simd::Vector<T> normal = (simd::load(x_row + i, which) - m) * r;
        const simd::Vector<T> g = simd::load(dy_row + i, which) * simd::load(scale + i, which);
        simd::store(dx_row + i, r * (g - gradient_mean - normal * product_mean), which);
      });
    }
  }
};

/// The gradient of normalise: dx is written, the gradients of scale and shift are added to their
/// accumulators. Each of the three may be null.
template <class Device, class D, class X, class P, class A, ComputeType T>
void normalise_gradient(Device& device, Tensor<D, Device> dy, Tensor<X, Device> x, Tensor<A, Device> mean,
                        Tensor<A, Device> rstd, Tensor<P, Device> scale, Tensor<T, Device> dx,
                        Tensor<A, Device> scale_gradient, Tensor<A, Device> shift_gradient) {
  if (!dx && !scale_gradient && !shift_gradient) return;
  require_equal_size("normalise_gradient", dy.shape(), x.shape());
  require_row("normalise_gradient", scale.shape(), x.shape());
  device.launch(
      NormaliseGradientKernel<T>{dy.data(), x.data(), mean.data(), rstd.data(), scale.data(), dx.data(),
                                 scale_gradient.data(), shift_gradient.data(), x.rows(), x.columns()},
      {14.0 * static_cast<double>(x.size()), traffic(dy, x, mean, rstd, scale, dx, scale_gradient,
                                                     scale_gradient, shift_gradient, shift_gradient)});
}

}  // namespace triax
