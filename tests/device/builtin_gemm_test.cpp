// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The built-in product, whatever library the tests were built with.

#include <doctest/doctest.h>

#include <triax/device/builtin_gemm.hpp>

#include "support/products.hpp"

namespace triax::test {
namespace {

template <class T>
Matrix<T> matrix(Guarded<T>& data, bool transpose) {
  const Matrix<T> m{data.tensor().data(), data.tensor().rows(), data.tensor().columns(),
                    data.tensor().columns()};
  return transpose ? m.transpose() : m;
}

TEST_CASE_TEMPLATE("the built-in product is exact on whole numbers", T, float, double) {
  // Sizes around the blocks: tiles of 6 or 14 rows, 256 inner elements, 16 tiles of columns.
  for (const ProductSizes s :
       {ProductSizes{1, 1, 1}, {5, 7, 3}, {15, 33, 17}, {113, 65, 257}, {14, 513, 19}}) {
    for (int variant = 0; variant < 8; ++variant) {
      const bool transpose_a = (variant & 1) != 0, transpose_b = (variant & 2) != 0,
                 accumulates = (variant & 4) != 0;
      CAPTURE(s.m);
      CAPTURE(variant);
      const auto a = whole_numbers(s.m * s.k, 1, 3), b = whole_numbers(s.k * s.n, 2, 3);
      const auto c = whole_numbers(s.m * s.n, 3, 3);
      Guarded<T> left(transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}, a);
      Guarded<T> right(transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n}, b);
      Guarded<T> result({s.m, s.n}, c);
      detail::BuiltinGemm<T>::multiply(matrix(left, transpose_a), matrix(right, transpose_b),
                                       matrix(result, false), accumulates);
      const std::vector<double> start = accumulates ? c : std::vector<double>(c.size());
      CHECK(result.values() == product(s, a, transpose_a, b, transpose_b, start));
    }
  }
}

TEST_CASE_TEMPLATE("rows are the same bits however they are cut", T, float, double) {
  constexpr std::int64_t m = 130, n = 40, k = 300;
  for (const bool transpose_b : {false, true}) {
    Guarded<T> a({m, k}, random_values<T>(m * k, 1));
    Guarded<T> b(transpose_b ? Shape{n, k} : Shape{k, n}, random_values<T>(k * n, 2));
    Guarded<T> whole({m, n}, 0.0), parts({m, n}, 0.0);
    const auto multiply = [&](Guarded<T>& c, std::int64_t first, std::int64_t rows) {
      detail::BuiltinGemm<T>::multiply(matrix(a, false).block(first, 0, rows, k), matrix(b, transpose_b),
                                       matrix(c, false).block(first, 0, rows, n), false);
    };
    multiply(whole, 0, m);
    for (const std::int64_t rows : {1, 2, 3, 13, 64}) {
      for (std::int64_t first = 0; first < m; first += rows)
        multiply(parts, first, std::min(rows, m - first));
      CHECK(same_bits(whole.values(), parts.values()));
    }
  }
}

TEST_CASE("blocks of a strided matrix are multiplied in place") {
  Guarded<float> a({4, 10}, whole_numbers(40, 1, 3)), b({4, 10}, whole_numbers(40, 2, 3));
  Guarded<float> c({4, 10}, 7);
  // c[1:3, 5:8] = a[0:2, 2:6] b[0:3, 1:5]^T
  detail::BuiltinGemm<float>::multiply(matrix(a, false).block(0, 2, 2, 4),
                                       matrix(b, false).block(0, 1, 3, 4).transpose(),
                                       matrix(c, false).block(1, 5, 2, 3), false);
  const auto at = [](const Guarded<float>& m, std::int64_t i, std::int64_t j) {
    return m.view()[i * 10 + j];
  };
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 10; ++j) {
      float expected = 7;
      if (i >= 1 && i < 3 && j >= 5 && j < 8) {
        expected = 0;
        for (std::int64_t l = 0; l < 4; ++l) expected += at(a, i - 1, 2 + l) * at(b, j - 5, 1 + l);
      }
      CHECK(at(c, i, j) == expected);
    }
  }
  c.values();
}

}  // namespace
}  // namespace triax::test
