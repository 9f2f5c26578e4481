// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the free functions that launch kernels share: the bytes that operands move, and checks of their sizes.
//
// A kernel is a functor of pointers and sizes. Its free function takes the device, the tensors that are read,
// the tensors that are written, then numbers; it checks sizes, computes the cost and launches. A function
// whose written tensor is null does nothing: that is the gradient of a frozen parameter.

#pragma once

#include <string>

#include <triax/core/error.hpp>
#include <triax/core/tensor.hpp>

namespace triax {

/// The bytes of all the tensors: what a kernel moves that touches each once.
template <class... Tensors>
double traffic(const Tensors&... tensors) {
  return (static_cast<double>(tensors.bytes()) + ... + 0.0);
}

/// Throws ShapeError unless two operands of `kernel` have as many elements.
inline void require_equal_size(const char* kernel, const Shape& x, const Shape& y) {
  if (x.size() != y.size())
    throw ShapeError(std::string(kernel) +
                     ": the operands must have as many elements, but their shapes are " + to_string(x) +
                     " and " + to_string(y));
}

/// Throws ShapeError unless `row` has one element per column of `matrix`.
inline void require_row(const char* kernel, const Shape& row, const Shape& matrix) {
  if (row.size() != matrix.columns())
    throw ShapeError(std::string(kernel) + ": a row of shape " + to_string(row) +
                     " does not fit the columns of " + to_string(matrix));
}

}  // namespace triax
