// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Elementwise kernels against their definitions in double.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/meter.hpp>
#include <triax/kernels/elementwise.hpp>

#include "support/guarded.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t sizes[] = {1, 3, 17, 65};

/// What T holds of f(i) for i in [0, size).
template <class T, class F>
std::vector<double> rounded(std::int64_t size, const F& f) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i)
    values.push_back(to_double(from_double<T>(f(static_cast<std::size_t>(i)))));
  return values;
}

TEST_CASE_TEMPLATE("fill, copy, add and scale", T, float, double, bf16, fp16) {
  Host host;
  for (const std::int64_t size : sizes) {
    const auto x = random_values<T>(size, 1), y = random_values<T>(size, 2);
    const Guarded<T> source({size}, x);
    Guarded<T> target({size}, y);
    add(host, source.view(), target.tensor());
    CHECK(target.values() == rounded<T>(size, [&](std::size_t i) { return x[i] + y[i]; }));
    copy(host, source.view(), target.tensor());
    CHECK(target.values() == x);
    scale(host, target.tensor(), 0.75F);
    CHECK(target.values() == rounded<T>(size, [&](std::size_t i) { return 0.75 * x[i]; }));
    fill(host, target.tensor(), from_double<T>(1.5));
    CHECK(target.values() == std::vector<double>(x.size(), 1.5));
  }
}

template <class From, class To>
void check_cast() {
  Host host;
  for (const std::int64_t size : sizes) {
    const auto x = random_values<From>(size, 1, -1000, 1000);
    const Guarded<From> source({size}, x);
    Guarded<To> target({size}, 0.0);
    cast(host, source.view(), target.tensor());
    CHECK(target.values() == rounded<To>(size, [&](std::size_t i) { return x[i]; }));
  }
}

TEST_CASE("casts round to nearest between all types") {
  check_cast<float, bf16>();
  check_cast<float, fp16>();
  check_cast<bf16, float>();
  check_cast<fp16, float>();
  check_cast<bf16, fp16>();
  check_cast<double, float>();
  check_cast<float, double>();
  check_cast<fp16, double>();
}

TEST_CASE("16-bit numbers are added to floats without rounding them first") {
  Host host;
  const Guarded<bf16> x({2}, std::vector<double>{1, 0x1p-9});
  Guarded<float> y({2}, 1.0 + 0x1p-20);
  add(host, x.view(), y.tensor());
  CHECK(y.values() == std::vector<double>{2 + 0x1p-20, 1 + 0x1p-9 + 0x1p-20});
}

TEST_CASE_TEMPLATE("bias rows and their gradient", T, float, double, bf16, fp16) {
  Host host;
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t columns : sizes) {
      // Whole numbers, whose sums are exact.
      std::vector<double> y, bias, sums;
      for (const auto token : random_tokens(rows * columns, 1, 9)) y.push_back(token - 4);
      for (const auto token : random_tokens(columns, 2, 9)) bias.push_back(token - 4);
      for (std::int64_t j = 0; j < columns; ++j) sums.push_back(static_cast<double>(j));
      std::vector<double> biased = y;
      for (std::size_t i = 0; i < y.size(); ++i) {
        biased[i] += bias[i % bias.size()];
        sums[i % sums.size()] += y[i];
      }
      const Shape shape{1, rows, columns};
      Guarded<T> stream(shape, y);
      const Guarded<T> row({columns}, bias);
      std::vector<double> start;
      for (std::int64_t j = 0; j < columns; ++j) start.push_back(static_cast<double>(j));
      Guarded<accumulator_t<T>> gradient({columns}, start);
      add_bias_gradient(host, stream.view(), gradient.tensor());
      CHECK(gradient.values() == sums);
      add_bias(host, row.view(), stream.tensor());
      CHECK(stream.values() == biased);
    }
  }
}

TEST_CASE("what is null is left out, and what does not fit is refused") {
  Host host;
  Guarded<float> x({4}, 1), y({5}, 2);
  add(host, x.view(), Tensor<float, Host>{});
  add_bias_gradient(host, x.view(), Tensor<float, Host>{});
  CHECK_THROWS_WITH_AS(add(host, x.view(), y.tensor()),
                       "add: the operands must have as many elements, but their shapes are [4] and [5]",
                       ShapeError);
  CHECK_THROWS_WITH_AS(add_bias(host, x.view(), y.tensor()),
                       "add_bias: a row of shape [4] does not fit the columns of [5]", ShapeError);
  CHECK_THROWS_AS(cast(host, x.view(), y.tensor()), ShapeError);
  CHECK_THROWS_AS(copy(host, x.view(), y.tensor()), ShapeError);
  CHECK_THROWS_AS(add_bias_gradient(host, x.view(), y.tensor()), ShapeError);
  CHECK(y.values() == std::vector<double>(5, 2));
}

TEST_CASE("a Meter counts without touching memory") {
  Meter<Host> meter;
  const Tensor<float, Meter<Host>> x{reinterpret_cast<float*>(meter.allocate(0)), {3, 4}};
  add(meter, x, x);
  CHECK(meter.executed().flops == 12);
  CHECK(meter.executed().bytes == 3 * 12 * 4);
  CHECK(meter.product_flops() == 0);
}

}  // namespace
}  // namespace triax::test
