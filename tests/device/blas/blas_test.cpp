// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Products by a CBLAS.

#include <string>

#include <doctest/doctest.h>

#include <triax/device/blas.hpp>

#include "support/products.hpp"

namespace triax::test {
namespace {

TEST_CASE("products by a CBLAS are exact on whole numbers") {
  CHECK(std::string(gemm_name()).find("BLAS") != std::string::npos);
  for (const ProductSizes s : {ProductSizes{1, 1, 1}, {3, 5, 2}, {65, 33, 17}}) {
    check_products<float, float, float>(s);
    check_products<double, double, double>(s);
    check_products<bf16, fp16, float>(s);
  }
}

TEST_CASE("an OpenBLAS computes with one thread") {
#ifdef OPENBLAS_VERSION
  CHECK(openblas_get_num_threads() == 1);
#endif
}

}  // namespace
}  // namespace triax::test
