// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/rows.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

TEST_CASE_TEMPLATE("a row's sum counts each element once, whatever the row's length", T, float, double, bf16,
                   fp16) {
  for (std::int64_t columns = 0; columns <= 150; ++columns) {
    // The row ends where the vector ends, so that a sanitizer sees a load beyond it.
    std::vector<T> row;
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      row.push_back(test::from_double<T>(static_cast<double>(i % 7)));
      sum += static_cast<double>(i % 7);
    }
    const auto found = simd::row_sum<T>(
        columns, [&](std::int64_t i, auto which) { return simd::load(row.data() + i, which); });
    CHECK(static_cast<double>(found) == sum);
    // Lanes beyond the end hold 0 here, and 0 + 1 must not count.
    const auto with_ones = simd::row_sum<T>(
        columns, [&](std::int64_t i, auto which) { return simd::load(row.data() + i, which) + 1; });
    CHECK(static_cast<double>(with_ones) == sum + static_cast<double>(columns));
  }
}

TEST_CASE_TEMPLATE("a row's largest element is found at every place", T, float, double, bf16, fp16) {
  for (const std::int64_t columns : {1, 3, 8, 9, 37}) {
    for (std::int64_t place = 0; place < columns; ++place) {
      std::vector<T> row(static_cast<std::size_t>(columns), test::from_double<T>(-5));
      row[static_cast<std::size_t>(place)] = test::from_double<T>(-2);
      CHECK(static_cast<double>(simd::row_largest(row.data(), columns)) == -2);
    }
  }
  CHECK(static_cast<double>(simd::row_largest(static_cast<const T*>(nullptr), 0)) == -INFINITY);
}

}  // namespace
}  // namespace triax
