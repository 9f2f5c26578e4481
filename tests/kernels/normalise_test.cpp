// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/normalise.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

using test::random_values;
using test::tensor;
using test::to_doubles;
using Numbers = std::vector<double>;

constexpr double epsilon = 1e-5;

/// Layer normalisation and its gradient in double, as the definition has it.
struct Reference {
  Numbers y{}, mean{}, rstd{}, dx{}, dscale{}, dshift{};

  Reference(const Numbers& x, const Numbers& scale, const Numbers& shift, const Numbers& dy)
      : y(x.size()), dx(x.size()), dscale(scale.size()), dshift(scale.size()) {
    const std::size_t n = scale.size();
    const auto count = static_cast<double>(n);
    for (std::size_t at = 0; at < x.size(); at += n) {
      double m = 0;
      double variance = 0;
      for (std::size_t i = 0; i < n; ++i) m += x[at + i] / count;
      for (std::size_t i = 0; i < n; ++i) variance += (x[at + i] - m) * (x[at + i] - m) / count;
      const double r = 1 / std::sqrt(variance + epsilon);
      mean.push_back(m);
      rstd.push_back(r);
      double sum = 0;
      double product = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double h = (x[at + i] - m) * r;
        y[at + i] = h * scale[i] + shift[i];
        dscale[i] += dy[at + i] * h;
        dshift[i] += dy[at + i];
        sum += dy[at + i] * scale[i] / count;
        product += dy[at + i] * scale[i] * h / count;
      }
      for (std::size_t i = 0; i < n; ++i)
        dx[at + i] = r * (dy[at + i] * scale[i] - sum - (x[at + i] - m) * r * product);
    }
  }
};

template <class T>
struct Problem {
  std::int64_t rows, columns;
  Numbers x = random_values<T>(rows * columns, 1, -2, 3);
  Numbers scale = random_values<T>(columns, 2, 0.5, 1.5);
  Numbers shift = random_values<T>(columns, 3);
  Numbers dy = random_values<T>(rows * columns, 4);
  Reference reference{x, scale, shift, dy};

  Host host{};
  std::vector<T> x_ = test::rounded_to<T>(x);
  std::vector<T> scale_ = test::rounded_to<T>(scale);
  std::vector<T> shift_ = test::rounded_to<T>(shift);
  std::vector<T> dy_ = test::rounded_to<T>(dy);
  std::vector<T> y = std::vector<T>(x.size());
  std::vector<T> dx = std::vector<T>(x.size());
  std::vector<accumulator_t<T>> mean = std::vector<accumulator_t<T>>(static_cast<std::size_t>(rows));
  std::vector<accumulator_t<T>> rstd = std::vector<accumulator_t<T>>(static_cast<std::size_t>(rows));
  std::vector<accumulator_t<T>> dscale = std::vector<accumulator_t<T>>(scale.size(), 1);
  std::vector<accumulator_t<T>> dshift = std::vector<accumulator_t<T>>(scale.size(), 2);

  void forward() {
    normalise(host, tensor(x_, {rows, columns}), tensor(scale_), tensor(shift_), tensor(y, {rows, columns}),
              tensor(mean), tensor(rstd), epsilon);
  }
  void backward(bool input, bool parameters) {
    using Gradient = Tensor<accumulator_t<T>, Host>;
    normalise_gradient(host, tensor(dy_, {rows, columns}), tensor(x_, {rows, columns}), tensor(mean),
                       tensor(rstd), tensor(scale_), input ? tensor(dx, {rows, columns}) : Tensor<T, Host>{},
                       parameters ? tensor(dscale) : Gradient{}, parameters ? tensor(dshift) : Gradient{});
  }
};

Numbers plus(Numbers values, double summand) {
  for (double& value : values) value += summand;
  return values;
}

TEST_CASE_TEMPLATE("normalise and its gradient agree with the definition", T, float, double, bf16, fp16) {
  for (const std::int64_t columns : {2, 5, 8, 31, 64, 100, 261}) {
    CAPTURE(columns);
    Problem<T> problem{.rows = 3, .columns = columns};
    problem.forward();
    problem.backward(true, true);
    const double bound = 4 * test::tolerance<T>();
    const double statistics = 64 * test::unit_roundoff<accumulator_t<T>>();
    CHECK(test::worst_error(to_doubles(problem.y), problem.reference.y) < bound);
    CHECK(test::worst_error(to_doubles(problem.mean), problem.reference.mean) < statistics);
    CHECK(test::worst_error(to_doubles(problem.rstd), problem.reference.rstd) < statistics);
    CHECK(test::worst_error(to_doubles(problem.dx), problem.reference.dx) < bound);
    CHECK(test::worst_error(to_doubles(problem.dscale), plus(problem.reference.dscale, 1)) < 4 * statistics);
    CHECK(test::worst_error(to_doubles(problem.dshift), plus(problem.reference.dshift, 2)) < statistics);
  }
}

TEST_CASE_TEMPLATE("either half of the gradient has the bits of the whole", T, float, bf16) {
  Problem<T> whole{.rows = 4, .columns = 37};
  Problem<T> halves{.rows = 4, .columns = 37};
  whole.forward();
  halves.forward();
  whole.backward(true, true);
  halves.backward(true, false);
  CHECK(to_doubles(halves.dscale) == Numbers(37, 1));
  CHECK(test::same_bits(whole.dx, halves.dx));
  halves.dx.assign(halves.dx.size(), T{});
  halves.backward(false, true);
  CHECK(to_doubles(halves.dx) == Numbers(halves.dx.size(), 0));
  CHECK(test::same_bits(whole.dscale, halves.dscale));
  CHECK(test::same_bits(whole.dshift, halves.dshift));
}

TEST_CASE("a large mean does not swallow the variance") {
  Problem<float> problem{.rows = 1, .columns = 64};
  for (std::size_t i = 0; i < 64; ++i) problem.x[i] = problem.x_[i] = i % 2 == 0 ? 4096.5F : 4095.5F;
  problem.forward();
  for (std::size_t i = 0; i < 64; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    const double wanted = sign / std::sqrt(0.25 + epsilon) / 2 * problem.scale[i] + problem.shift[i];
    CHECK(std::abs(static_cast<double>(problem.y[i]) - wanted) < 1e-5);
  }
}

TEST_CASE("a row of one element or of equal ones is finite") {
  Problem<float> one{.rows = 2, .columns = 1};
  one.forward();
  one.backward(true, true);
  CHECK(one.y == std::vector<float>(2, one.shift_[0]));
  CHECK(test::worst_error(to_doubles(one.dx), Numbers(2, 0)) < 1e-4);
  Problem<float> equal{.rows = 1, .columns = 9};
  equal.x_.assign(9, 3.0F);
  equal.forward();
  CHECK(equal.y == equal.shift_);
}

TEST_CASE("parameters that do not fit the columns are refused") {
  Problem<float> problem{.rows = 2, .columns = 4};
  problem.scale_.pop_back();
  CHECK_THROWS_WITH_AS(problem.forward(), "normalise: a row of shape [3] does not fit the columns of [2, 4]",
                       ShapeError);
  problem.scale_.push_back(1);
  problem.shift_.push_back(1);
  CHECK_THROWS_WITH_AS(problem.forward(), "normalise: a row of shape [5] does not fit the columns of [2, 4]",
                       ShapeError);
}

}  // namespace
}  // namespace triax
