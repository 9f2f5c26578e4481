// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Tensors for tests of kernels: an element is missing from the alignment, and guards show writes outside.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/core/tensor.hpp>
#include <triax/device/host.hpp>

#include "support/numbers.hpp"

namespace triax::test {

/// Values rounded to T, between guards. They start on no boundary of vectors.
template <class T>
class Guarded {
 public:
  Guarded(const Shape& shape, const std::vector<double>& values)
      : shape_(shape),
        elements_(static_cast<std::size_t>(shape.size()) + 2 * guard, from_double<T>(sentinel)) {
    REQUIRE(static_cast<std::int64_t>(values.size()) == shape.size());
    for (std::size_t i = 0; i < values.size(); ++i) elements_[guard + i] = from_double<T>(values[i]);
  }
  /// Filled with `value`.
  Guarded(const Shape& shape, double value)
      : Guarded(shape, std::vector<double>(static_cast<std::size_t>(shape.size()), value)) {}

  Tensor<T, Host> tensor() { return {elements_.data() + guard, shape_}; }
  Tensor<const T, Host> view() const { return {elements_.data() + guard, shape_}; }

  /// The values, after a check that the guards are what they were.
  std::vector<double> values() const {
    const std::vector<double> all = to_doubles(elements_);
    for (std::size_t i = 0; i < guard; ++i) {
      CHECK(all[i] == sentinel);
      CHECK(all[all.size() - 1 - i] == sentinel);
    }
    return {all.begin() + guard, all.end() - guard};
  }

 private:
  static constexpr std::size_t guard = 17;
  static constexpr double sentinel = -1536;  // exact in every type

  Shape shape_;
  std::vector<T> elements_;
};

}  // namespace triax::test
