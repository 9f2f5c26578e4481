// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a gradient check is asked and what it answers.

#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace triax {

/// How check_gradients checks.
struct GradientCheckOptions {
  double step = 1e-5;           ///< of the central differences
  double tolerance = 1e-6;      ///< the largest relative error that is accepted
  std::uint64_t seed = 1;       ///< of the data, the parameters and the layer's own random numbers
  std::int64_t vocabulary = 0;  ///< token numbers are drawn below it; 0: below the features of the stream
  bool values = false;          ///< the batch holds values of the stream's shape in place of token numbers
  bool training = true;         ///< what the layer sees as `ctx.training()`
};

/// What check_gradients found: the element whose gradient is worst.
struct GradientReport {
  double worst = 0;  ///< |analytic - numeric|, relative to the larger of them or 1e-3 of the largest gradient
  std::string tensor{};    ///< "the input", or the name of a parameter
  std::int64_t index = 0;  ///< of the element, in row-major order
  double analytic = 0;     ///< its gradient by the layer's backward
  double numeric = 0;      ///< its gradient by differences of the layer's forward
  std::string method{};    ///< "backward", or "backward_input and backward_weight"
  std::string broken{};    ///< a rule of layers that was broken, or empty
  double tolerance = 0;

  bool ok() const { return broken.empty() && worst <= tolerance; }
};

/// The report as one sentence.
inline std::string to_string(const GradientReport& report) {
  if (!report.broken.empty()) return report.broken;
  if (report.tensor.empty()) return "all gradients agree exactly";
  const auto text = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return std::string(digits);
  };
  return "the largest relative error is " + text(report.worst) + ", at element " +
         std::to_string(report.index) + " of " + report.tensor + ": " + report.method + " gives " +
         text(report.analytic) + ", differences of forward give " + text(report.numeric);
}

}  // namespace triax
