// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Token numbers: which of them count, and the error for those that name nothing.

#pragma once

#include <cstdint>
#include <string>

#include <triax/kernels/operands.hpp>

namespace triax {

/// Throws ShapeError: `number`, the `what` of the token at `place` of the micro-batch, is outside [0, count).
[[noreturn]] inline void throw_out_of_range(const char* what, std::int64_t number, std::int64_t place,
                                            std::int64_t count) {
  throw ShapeError(std::string("the ") + what + " of token " + std::to_string(place) +
                   " of the micro-batch is " + std::to_string(number) + ", but the vocabulary has " +
                   std::to_string(count) +
                   " tokens, numbered from 0; give the model a larger vocabulary or mend the data");
}

/// The weight with which token `row` enters a loss: `weights` null means 1, `targets` null means that nothing
/// is ignored.
inline float token_weight(const float* weights, const std::int32_t* targets, std::int32_t ignore,
                          std::int64_t row) {
  if (targets && targets[row] == ignore) return 0;
  return weights ? weights[row] : 1;
}

struct CountTokensKernel {
  const float* weights;
  const std::int32_t* targets;
  std::int32_t ignore;
  std::int64_t rows;
  double* sum;

  void operator()() const {
    double total = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      total += static_cast<double>(token_weight(weights, targets, ignore, row));
    *sum += total;
  }
};

/// Adds to `sum` the weights of the tokens of a batch whose target is not `ignore`. Without weights each
/// counts 1; without targets none is ignored. `shape` is {sequences, tokens}.
template <class Device>
void count_tokens(Device& device, const Shape& shape, Tensor<const float, Device> weights,
                  Tensor<const std::int32_t, Device> targets, std::int32_t ignore,
                  Tensor<double, Device> sum) {
  device.launch(CountTokensKernel{weights.data(), targets.data(), ignore, shape.size(), sum.data()},
                {static_cast<double>(shape.size()), traffic(weights, targets, sum)});
}

}  // namespace triax
