// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Activations against the formulas of their papers in double.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/activation.hpp>

#include "support/guarded.hpp"

namespace triax::test {
namespace {

/// GELU as published, by the hyperbolic tangent.
struct GeluReference {
  static double inner(double x) { return std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x); }
  static double value(double x) { return x / 2 * (1 + std::tanh(inner(x))); }
  static double derivative(double x) {
    const double t = std::tanh(inner(x));
    const double slope = std::sqrt(2 / 3.14159265358979323846) * (1 + 3 * 0.044715 * x * x);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * slope;
  }
};
struct ReluReference {
  static double value(double x) { return x > 0 ? x : 0; }
  static double derivative(double x) { return x > 0 ? 1 : 0; }
};

template <class F>
std::vector<double> map(const std::vector<double>& x, F f) {
  std::vector<double> y;
  for (const double value : x) y.push_back(f(value));
  return y;
}

template <class T>
double tolerance() {
  return std::is_same_v<T, double> ? 1e-14 : 4 * unit_roundoff<T>() + 1e-6;
}

template <class T, class Function, class Reference>
void check_function(Function function) {
  Host host;
  for (const std::int64_t size : {1, 3, 17, 65, 1000}) {
    const Shape shape{size};
    const auto numbers = random_values<T>(size, 1, -7, 7), gradients = random_values<T>(size, 2);
    const Guarded<T> x(shape, numbers), dy(shape, gradients);
    Guarded<T> y(shape, 0.0), dx(shape, gradients);
    activation(host, function, x.view(), y.tensor());
    CHECK(worst_error(y.values(), map(numbers, Reference::value)) < tolerance<T>());

    std::vector<double> expected = map(numbers, Reference::derivative);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= gradients[i];
    activation_gradient(host, function, x.view(), dy.view(), y.tensor());
    CHECK(worst_error(y.values(), expected) < tolerance<T>());
    activation_gradient(host, function, x.view(), dx.view(), dx.tensor());
    CHECK(same_bits(dx.values(), y.values()));
  }
}

TEST_CASE_TEMPLATE("GELU and its gradient", T, float, double, bf16, fp16) {
  check_function<T, GeluTanh, GeluReference>({});
}
TEST_CASE_TEMPLATE("ReLU and its gradient", T, float, double, bf16) {
  check_function<T, Rectifier, ReluReference>({});
}

TEST_CASE_TEMPLATE("the fused bias gives what two kernels give", T, float, double, bf16, fp16) {
  Host host;
  for (const std::int64_t rows : {1, 3, 6, 65}) {
    for (const std::int64_t columns : {1, 17, 40}) {
      const Shape shape{rows, columns};
      const auto numbers = random_values<T>(rows * columns, 1, -3, 3),
                 gradients = random_values<T>(rows * columns, 2);
      const Guarded<T> bias({columns}, random_values<T>(columns, 3));
      Guarded<T> x(shape, numbers), y(shape, 0.0), x_apart(shape, numbers), y_apart(shape, 0.0);
      bias_activation(host, GeluTanh{}, bias.view(), x.tensor(), y.tensor());
      add_bias(host, bias.view(), x_apart.tensor());
      activation(host, GeluTanh{}, x_apart.view(), y_apart.tensor());
      CHECK(same_bits(x.values(), x_apart.values()));
      CHECK(same_bits(y.values(), y_apart.values()));

      Guarded<T> dx(shape, gradients), dx_apart(shape, gradients), dx_frozen(shape, gradients);
      Guarded<accumulator_t<T>> sums({columns}, 0.25), sums_apart({columns}, 0.25);
      bias_activation_gradient(host, GeluTanh{}, x.view(), dx.tensor(), sums.tensor());
      activation_gradient(host, GeluTanh{}, x.view(), dx_apart.view(), dx_apart.tensor());
      add_bias_gradient(host, dx_apart.view(), sums_apart.tensor());
      bias_activation_gradient(host, GeluTanh{}, x.view(), dx_frozen.tensor(),
                               Tensor<accumulator_t<T>, Host>{});
      CHECK(same_bits(dx.values(), dx_apart.values()));
      CHECK(same_bits(dx.values(), dx_frozen.values()));
      CHECK(same_bits(sums.values(), sums_apart.values()));
    }
  }
}

TEST_CASE("what is not finite is not hidden") {
  Host host;
  const Guarded<float> x({4}, std::vector<double>{NAN, INFINITY, -1e30, 30});
  Guarded<float> y({4}, 0.0);
  activation(host, GeluTanh{}, x.view(), y.tensor());
  CHECK(std::isnan(y.values()[0]));
  CHECK(y.values()[1] == INFINITY);
  CHECK(std::abs(y.values()[2]) < 1e-6);
  CHECK(y.values()[3] == 30);
  activation(host, Rectifier{}, x.view(), y.tensor());
  CHECK(std::isnan(y.values()[0]));
  CHECK(y.values()[2] == 0);
}

}  // namespace
}  // namespace triax::test
