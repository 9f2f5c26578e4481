// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Dropout with masks that are a function of where an element stands in the model and in the data.

#pragma once

#include <cstddef>
#include <cstdint>

#include <triax/core/position.hpp>
#include <triax/kernels/operands.hpp>
#include <triax/kernels/vector.hpp>

namespace triax {

/// Whether dropout drops an element: its 32 random bits are below probability * 2^32, rounded.
struct DropoutRule {
  std::uint32_t threshold;
  double factor;  ///< of the elements that stay: 1 / (1 - probability)

  /// `probability` is in [0, 1).
  explicit constexpr DropoutRule(double probability)
      : threshold(static_cast<std::uint32_t>(probability * 0x1p32)), factor(1 / (1 - probability)) {}
};

template <ComputeType T>
struct DropoutKernel {
  using Accumulator = accumulator_t<T>;

  const T* x;
  T* y;
  std::int64_t sequences, tokens, width;
  RandomSite site;
  DropoutRule rule;

  void operator()() const {
    // The step is read once, here: in the loop the compiler could not tell it from what y points to.
    const std::int64_t step = *site.step;
    RandomSite numbers = site;
    numbers.step = &step;
    for (std::int64_t sequence = 0; sequence < sequences; ++sequence)
      for (std::int64_t token = 0; token < tokens; ++token) {
        const std::int64_t row = (sequence * tokens + token) * width;
        for (std::int64_t first = 0; first < width; first += 4 * groups) {
          const std::int64_t count = width - first < 4 * groups ? width - first : 4 * groups;
          std::uint32_t bits[4 * groups];
          for (int group = 0; group < groups; ++group) {
            const auto four = numbers(sequence, token, first / 4 + group);
            for (int i = 0; i < 4; ++i) bits[4 * group + i] = four[static_cast<std::size_t>(i)];
          }
          drop(x + row + first, y + row + first, bits, count);
        }
      }
  }

 private:
  static constexpr int groups = 16;  // of four random numbers, drawn together

  void drop(const T* from, T* to, const std::uint32_t* bits, std::int64_t count) const {
    const auto factor = static_cast<Accumulator>(rule.factor);
    Accumulator factors[4 * groups];
    for (int i = 0; i < 4 * groups; ++i) factors[i] = bits[i] < rule.threshold ? 0 : factor;
    simd::for_each_vector<T>(count, [&](std::int64_t i, auto which) {
      const simd::Vector<T> f = simd::load(factors + i);
      const simd::Vector<T> kept = simd::load(from + i, which) * f;
      simd::store(to + i, f > 0 ? kept : f, which);
    });
  }
};

/// y = x / (1 - probability) where the element stays and 0 where it is dropped, infinite or not. x has shape
/// {sequences, tokens, features}; `site` decides, so the same call with a gradient for x is dropout's
/// backward.
template <class Device, class X, ComputeType T>
void dropout(Device& device, Tensor<X, Device> x, Tensor<T, Device> y, const RandomSite& site,
             double probability) {
  require_equal_size("dropout", x.shape(), y.shape());
  const Shape& shape = x.shape();
  device.launch(
      DropoutKernel<T>{x.data(), y.data(), shape[0], shape[1], shape[2], site, DropoutRule(probability)},
      {30.0 * static_cast<double>(x.size()), traffic(x, y)});
}

}  // namespace triax
