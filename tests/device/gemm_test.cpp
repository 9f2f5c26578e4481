// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products of tensors, by the library that the tests were built with.

#include <string>

#include <doctest/doctest.h>

#include <triax/device/gemm.hpp>
#include <triax/device/meter.hpp>

#include "support/products.hpp"

namespace triax::test {
namespace {

template <class T>
Tensor<T, Meter<Host>> metered(const Shape& shape) {
  return {reinterpret_cast<T*>(Meter<Host>{}.allocate(0)), shape};
}

TEST_CASE("products are exact on whole numbers, in every transposition and type") {
  for (const ProductSizes s : {ProductSizes{1, 1, 1}, {3, 5, 2}, {17, 65, 3}, {64, 33, 17}, {30, 1, 65}}) {
    check_products<float, float, float>(s);
    check_products<double, double, double>(s);
    check_products<bf16, bf16, float>(s);
    check_products<fp16, float, float>(s);
  }
  check_products<bf16, bf16, bf16>({17, 19, 20});
  check_products<fp16, fp16, fp16>({17, 19, 20});
  check_products<float, float, bf16>({3, 5, 7});
}

TEST_CASE("16-bit operands larger than a staged block") {
  check_products<bf16, bf16, float>({513, 3, 1030});
  check_products<bf16, fp16, float>({3, 513, 2});
  check_products<bf16, bf16, bf16>({2, 515, 20});
}

TEST_CASE("a product over nothing is zero") {
  check_products<float, float, float>({3, 5, 0});
  check_products<bf16, bf16, bf16>({3, 5, 0});
  check_products<float, float, float>({0, 5, 3});
}

TEST_CASE("a stream is the matrix of its tokens") {
  Host host;
  const auto x = whole_numbers(2 * 3 * 4, 1, 5);
  const auto w = whole_numbers(4 * 5, 2, 5);
  const Guarded<float> stream({2, 3, 4}, x);
  const Guarded<float> weight({4, 5}, w);
  Guarded<float> result({2, 3, 5}, 0);
  gemm(host, stream.view(), weight.view(), result.tensor());
  CHECK(result.values() == product({6, 5, 4}, x, false, w, false, std::vector<double>(30)));
}

TEST_CASE("sizes that do not fit are named") {
  Host host;
  const Guarded<float> a({2, 3}, 1);
  const Guarded<float> b({4, 5}, 1);
  Guarded<float> c({2, 5}, 1);
  const auto message = [&](const auto& x, const auto& y) {
    try {
      gemm(host, x, y, c.tensor());
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message(a.view(), b.view()) ==
        "gemm: a [2, 3] times b [4, 5] is no matrix c [2, 5]; wanted are a [m, k], b [k, n] and c [m, n]");
  CHECK(message(transposed(a.view()), b.view()).find("a [3, 2] (transposed) times b [4, 5]") !=
        std::string::npos);
  CHECK(c.values() == std::vector<double>(10, 1));
}

TEST_CASE("a null result costs nothing") {
  Meter<Host> meter;
  gemm(meter, metered<bf16>({2, 3}), metered<bf16>({3, 4}), Tensor<float, Meter<Host>>{}, accumulate);
  CHECK(meter.executed().flops == 0);
  CHECK(meter.executed().bytes == 0);
  CHECK(meter.workspace_bytes() == 0);
  Host host;
  gemm(host, Tensor<float, Host>{}, Tensor<float, Host>{}, Tensor<float, Host>{});
}

TEST_CASE("a Meter counts a product and plans its workspace") {
  Meter<Host> meter;
  gemm(meter, metered<const float>({2, 3, 5}), metered<float>({5, 7}), metered<float>({2, 3, 7}));
  CHECK(meter.executed().flops == 2 * 6 * 5 * 7);
  CHECK(meter.product_flops() == 2 * 6 * 5 * 7);
  CHECK(meter.executed().bytes == 4 * (6 * 5 + 5 * 7 + 6 * 7));
  CHECK(meter.workspace_bytes() == 0);

  const Shape a{700, 30}, b{700, 1100}, c{30, 1100};
  gemm(meter, transposed(metered<bf16>(a)), metered<const bf16>(b), metered<float>(c), accumulate);
  CHECK(meter.executed().bytes == 4 * (6 * 5 + 5 * 7 + 6 * 7) + 2 * (700 * 30 + 700 * 1100) + 8 * 30 * 1100);
  Host host;
  const Guarded<bf16> left(a, 1), right(b, 1);
  Guarded<float> result(c, 0);
  gemm(host, transposed(left.view()), right.view(), result.tensor(), accumulate);
  CHECK(host.workspace_bytes() == meter.workspace_bytes());
  CHECK(host.workspace_bytes() > 0);
}

}  // namespace
}  // namespace triax::test
