// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Products by oneDNN.

#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <triax/device/onednn.hpp>

#include "support/products.hpp"

namespace triax::test {
namespace {

TEST_CASE("products by oneDNN are exact on whole numbers") {
  CHECK(std::string(gemm_name()) == "oneDNN");
  for (const ProductSizes s : {ProductSizes{1, 1, 1}, {3, 5, 2}, {65, 33, 17}}) {
    check_products<float, float, float>(s);
    check_products<double, double, double>(s);
    check_products<bf16, fp16, float>(s);
  }
}

TEST_CASE("oneDNN computes in the thread that asks") {
  if (!detail::set_openmp_threads) return;
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  std::thread([&] {
    const auto before = threads();
    detail::set_openmp_threads(4);
    check_products<float, float, float>({300, 300, 300});
    CHECK(threads() == before);
  }).join();
}

}  // namespace
}  // namespace triax::test
