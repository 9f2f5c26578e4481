// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Vectors against the same arithmetic lane by lane.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/exponential.hpp>
#include <triax/kernels/transpose.hpp>
#include <triax/kernels/vector.hpp>

#include "support/guarded.hpp"
#include "support/numbers.hpp"

namespace triax::test {
namespace {

constexpr int lanes = simd::lanes<float>;

template <class T>
int differing_loads() {
  int differing = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; bits += lanes) {
    T elements[lanes];
    for (int i = 0; i < lanes; ++i)
      elements[i].bits = static_cast<std::uint16_t>(bits + static_cast<unsigned>(i));
    const auto wide = simd::load(elements);
    for (int i = 0; i < lanes; ++i)
      differing += std::bit_cast<std::uint32_t>(float{wide[i]}) !=
                   std::bit_cast<std::uint32_t>(static_cast<float>(elements[i]));
  }
  return differing;
}

// Over every 509th float, which meets all exponents, both signs, infinities and NaNs.
template <class T>
int differing_stores() {
  int differing = 0;
  std::uint64_t bits = 0;
  while (bits < (std::uint64_t{1} << 32)) {
    float wide[lanes];
    for (int i = 0; i < lanes; ++i, bits += 509)
      wide[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    T narrow[lanes];
    simd::store(narrow, simd::load(wide));
    for (int i = 0; i < lanes; ++i) differing += narrow[i].bits != T(wide[i]).bits;
  }
  return differing;
}

TEST_CASE_TEMPLATE("16-bit elements convert as their types do", T, bf16, fp16) {
  CHECK(differing_loads<T>() == 0);
  CHECK(differing_stores<T>() == 0);
}

TEST_CASE_TEMPLATE("loads and stores of a part touch nothing else", T, float, double, bf16, fp16) {
  constexpr int full = simd::lanes<T>;
  for (int count = 1; count < full; ++count) {
    std::vector<double> numbers(full);
    for (int i = 0; i < full; ++i) numbers[static_cast<std::size_t>(i)] = i + 1;
    const Guarded<T> source({full}, numbers);
    Guarded<T> target({count}, 0.0);
    const auto x = simd::load(source.view().data(), simd::First{count});
    for (int i = 0; i < full; ++i) CHECK(x[i] == (i < count ? i + 1 : 0));
    simd::store(target.tensor().data(), simd::load(source.view().data()), simd::First{count});
    numbers.resize(static_cast<std::size_t>(count));
    CHECK(target.values() == numbers);
  }
}

TEST_CASE("every element is visited once, the last ones as a part") {
  for (const std::int64_t size : {0, 1, lanes - 1, lanes, lanes + 1, 5 * lanes + 3}) {
    std::int64_t next = 0;
    const auto visit = [&](std::int64_t i, auto which) {
      CHECK(i == next);
      if constexpr (std::is_same_v<decltype(which), simd::All>) {
        next += lanes;
      } else {
        CHECK(which.count > 0);
        CHECK(which.count < lanes);
        next += which.count;
      }
    };
    simd::for_each_vector<float>(size, visit);
    CHECK(next == size);
  }
}

TEST_CASE_TEMPLATE("lanes are summed as a balanced tree", T, float, double) {
  constexpr int count = simd::lanes<T>;
  const auto numbers = random_values<T>(count, 1);
  std::vector<T> tree = rounded_to<T>(numbers);
  const auto x = simd::load(tree.data());
  for (int width = count / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i)
      tree[static_cast<std::size_t>(i)] += tree[static_cast<std::size_t>(i + width)];
  CHECK(simd::sum(x) == tree[0]);
  CHECK(simd::largest(x) == *std::max_element(numbers.begin(), numbers.end()));
}

TEST_CASE("the fused product rounds once where the instruction set has it") {
  const auto a = simd::broadcast(1 + 0x1p-23F);
  const auto fused = simd::multiply_add(a, a, simd::broadcast(-1.0F));
#if defined(__FMA__)
  CHECK(fused[0] == 0x1p-22F + 0x1p-46F);
#else
  CHECK(fused[0] == 0x1p-22F);
#endif
}

TEST_CASE_TEMPLATE("a square of vectors is transposed", T, float, double) {
  constexpr int size = simd::lanes<T>;
  simd::Vector<T> rows[size];
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) rows[i][j] = static_cast<T>(100 * i + j);
  simd::transpose(rows);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) CHECK(static_cast<T>(rows[i][j]) == 100 * j + i);
}

TEST_CASE("the exponential is accurate wherever its result is normal") {
  const auto exponential = [](float x) { return simd::exp(simd::broadcast(x))[0]; };
  double worst = 0;
  for (float x = -87.29F; x < 88.29F; x += 0.00371F)
    worst =
        std::max(worst, std::abs(static_cast<double>(exponential(x)) / std::exp(static_cast<double>(x)) - 1));
  for (float x = 0x1p-30F; x < 80; x *= 1.01F)
    worst = std::max(worst,
                     std::abs(static_cast<double>(exponential(-x)) / std::exp(-static_cast<double>(x)) - 1));
  CHECK(worst < 2e-7);
  CHECK(exponential(0) == 1);
  CHECK(exponential(-87.5F) == 0);
  CHECK(exponential(-INFINITY) == 0);
  CHECK(exponential(100) == exponential(88.3F));
  CHECK(exponential(INFINITY) == exponential(88.3F));
  CHECK(std::isnan(exponential(NAN)));
  CHECK(simd::exp(simd::broadcast(1.25))[0] == std::exp(1.25));
}

TEST_CASE("a NaN in the second argument of maximum is kept") {
  CHECK(std::isnan(simd::maximum(simd::broadcast(1.0F), simd::broadcast(NAN))[0]));
  CHECK(simd::maximum(simd::broadcast(1.0F), simd::broadcast(2.0F))[0] == 2);
  CHECK(simd::minimum(simd::broadcast(1.0F), simd::broadcast(2.0F))[0] == 1);
}

}  // namespace
}  // namespace triax::test
