// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/block.hpp>
#include <triax/comm/reduction.hpp>

using namespace triax;

TEST_CASE("blocks divide any size among any number of ranks") {
  for (const std::size_t n : {0U, 1U, 5U, 16U, 17U, 1000U}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      std::size_t next = 0;
      for (int r = 0; r < ranks; ++r) {
        CHECK(block_begin(n, ranks, r) == next);
        next += block_size(n, ranks, r);
        CHECK(block_size(n, ranks, 0) - block_size(n, ranks, r) <= 1);
      }
      CHECK(next == n);
    }
  }
}

TEST_CASE("operations on elements") {
  CHECK(Sum{}(std::int32_t{std::numeric_limits<std::int32_t>::max()}, std::int32_t{1}) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(Sum{}(std::uint8_t{200}, std::uint8_t{100}) == 44);
  CHECK(Min{}(-1.0F, 2.0F) == -1.0F);
  CHECK(Max{}(-1.0F, 2.0F) == 2.0F);
  CHECK(Max{}(std::int64_t{3}, std::int64_t{-3}) == 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float found : {Min{}(nan, 1.0F), Min{}(1.0F, nan), Max{}(nan, 1.0F), Max{}(1.0F, nan)}) {
    CHECK(found != found);
  }
}

TEST_CASE("16-bit elements are added in float and rounded once") {
  // 256 + 1 + 1 is 258, a bf16; rounded after each addition it stays 256.
  const std::vector<bf16> a(1500, bf16(256.0F)), b(1500, bf16(1.0F)), c(1500, bf16(1.0F));
  std::vector<bf16> sum(1500);
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(a.data()),
                               reinterpret_cast<const std::byte*>(b.data()),
                               reinterpret_cast<const std::byte*>(c.data())};
  std::byte* output = reinterpret_cast<std::byte*>(sum.data());
  reduce_in_order<bf16, Sum>({inputs, 3, 1}, {&output, 1, 2}, 1498);
  CHECK(sum[1].bits == 0);
  for (std::size_t i = 2; i < sum.size(); ++i) CHECK(static_cast<float>(sum[i]) == 258.0F);
}
