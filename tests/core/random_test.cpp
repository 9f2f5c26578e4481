// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <set>

#include <doctest/doctest.h>

#include <triax/core/position.hpp>
#include <triax/core/random.hpp>

namespace triax {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that the authors of Philox publish with Random123, file kat_vectors, philox4x32 of 10
// rounds.
static_assert(philox({0, 0, 0, 0}, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff) ==
              Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
static_assert(philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822) ==
              philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822));

static_assert(to_unit(0) == 0);
static_assert(to_unit(0xffffffff) == 1 - 0x1p-24F);
static_assert(to_unit(0x80000000) == 0.5F);

TEST_CASE("philox gives the known answers at run time too") {
  CHECK(philox({0, 0, 0, 0}, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

TEST_CASE("unit numbers are uniform") {
  constexpr int count = 1 << 16;
  std::array<int, 64> bins{};
  double sum = 0;
  for (std::uint64_t i = 0; i < count / 4; ++i) {
    for (const std::uint32_t bits : philox(i, 0, 42)) {
      const double unit = static_cast<double>(to_unit(bits));
      sum += unit;
      ++bins[static_cast<std::size_t>(unit * 64)];
    }
  }
  double chi_squared = 0;
  for (const int bin : bins) chi_squared += (bin - count / 64.0) * (bin - count / 64.0) / (count / 64.0);
  CHECK(sum / count == doctest::Approx(0.5).epsilon(0.01));
  CHECK(chi_squared < 110);  // 63 degrees of freedom: exceeded with probability 2e-4
}

TEST_CASE("normal numbers have the moments of a standard normal, and are always finite") {
  constexpr int count = 1 << 16;
  double moments[4]{};
  for (std::uint64_t i = 0; i < count / 2; ++i) {
    const auto bits = philox(i, 0, 7);
    for (const double x : {static_cast<double>(to_normal(bits[0], bits[1])),
                           static_cast<double>(to_normal(bits[2], bits[3]))}) {
      double power = 1;
      for (double& moment : moments) moment += (power *= x) / count;
    }
  }
  CHECK(std::abs(moments[0]) < 0.02);
  CHECK(std::abs(moments[1] - 1) < 0.03);
  CHECK(std::abs(moments[2]) < 0.05);
  CHECK(std::abs(moments[3] - 3) < 0.2);
  CHECK(to_normal(0, 0) == doctest::Approx(std::sqrt(64 * std::log(2))));
  CHECK(to_normal(0xffffffff, 0) == 0);
}

TEST_CASE("random_below stays below its bound and reaches everything") {
  for (const std::uint64_t bound :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{100}}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 20 * bound; ++i) seen.insert(random_below(bound, 3, i));
    CHECK(seen.size() == bound);
    CHECK(*seen.rbegin() == bound - 1);
  }
}

TEST_CASE("random_below is the high word of a 128-bit product") {
  __extension__ using Wide = unsigned __int128;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t bound = (std::uint64_t{1} << (i % 64)) + 12345 * i;
    const auto bits = philox(i, 0, 99);
    const std::uint64_t value = static_cast<std::uint64_t>(bits[1]) << 32 | bits[0];
    CHECK(random_below(bound, 99, i) == static_cast<std::uint64_t>((static_cast<Wide>(value) * bound) >> 64));
  }
}

TEST_CASE("the numbers of a site depend on key, step, sample, position and feature, and on nothing else") {
  const std::int64_t step = 5;
  const std::int64_t next_step = 6;
  const RandomSite site{.key = 11, .step = &step, .first_sample = 20, .positions = {30}};
  const auto numbers = site(2, 3, 4);

  // Another cut of the same batch and sequence names the same token.
  CHECK(RandomSite{.key = 11, .step = &step, .first_sample = 22, .positions = {33}}(0, 0, 4) == numbers);

  CHECK(RandomSite{.key = 12, .step = &step, .first_sample = 20, .positions = {30}}(2, 3, 4) != numbers);
  CHECK(RandomSite{.key = 11, .step = &next_step, .first_sample = 20, .positions = {30}}(2, 3, 4) != numbers);
  CHECK(RandomSite{.key = 11, .step = &step, .first_sample = 21, .positions = {30}}(2, 3, 4) != numbers);
  CHECK(RandomSite{.key = 11, .step = &step, .first_sample = 20, .positions = {31}}(2, 3, 4) != numbers);
  CHECK(site(2, 3, 5) != numbers);
}

}  // namespace
}  // namespace triax
