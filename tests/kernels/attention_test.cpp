// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Attention against its definition.

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/meter.hpp>
#include <triax/kernels/attention.hpp>

#include "support/attention_reference.hpp"
#include "support/guarded.hpp"

namespace triax::test {
namespace {

/// One run of both kernels between guards; scratch starts full of NaNs.
template <class T>
struct Run {
  using A = accumulator_t<T>;

  AttentionSizes sizes;
  Guarded<T> qkv, output, d_output, d_qkv;
  Guarded<A> logsumexp;

  Run(const AttentionSizes& s, const std::vector<double>& input, const std::vector<double>& gradient)
      : sizes(s),
        qkv({s.sequences, s.tokens, 3 * s.heads * s.width}, input),
        output(s.output(), NAN),
        d_output(s.output(), gradient),
        d_qkv(qkv.view().shape(), NAN),
        logsumexp(s.statistics(), NAN) {
    Host host;
    const Positions positions{5};
    Guarded<A> forward(attention_scratch<T>(s), NAN), backward(attention_gradient_scratch<T>(s), NAN);
    attention(host, qkv.view(), output.tensor(), logsumexp.tensor(), forward.tensor(), s, positions);
    attention_gradient(host, qkv.view(), output.view(), logsumexp.tensor(), d_output.view(), d_qkv.tensor(),
                       backward.tensor(), s, positions);
    forward.values();
    backward.values();
  }
};

template <class T>
void check_attention(const AttentionSizes& s) {
  CAPTURE(s.tokens);
  CAPTURE(s.width);
  const std::int64_t size = s.output().size();
  const auto input = random_values<T>(3 * size, 1, -2, 2), gradient = random_values<T>(size, 2);
  const auto expected = attention_reference(input, gradient, s.sequences, s.tokens, s.heads, s.width);
  const Run<T> run(s, input, gradient);
  const double arithmetic = std::is_same_v<T, double> ? 1e-14 : 1e-6;
  const double rounding = arithmetic + 2 * unit_roundoff<T>();
  CHECK(worst_error(run.output.values(), expected.output) < rounding);
  CHECK(worst_error(run.logsumexp.values(), expected.logsumexp) < arithmetic);
  // The gradient starts from the rounded output, so its error has the size of the largest terms of its sums.
  CHECK(worst_error(run.d_qkv.values(), expected.d_qkv) < 2 * rounding);
}

TEST_CASE_TEMPLATE("attention and its gradient", T, float, double, bf16, fp16) {
  check_attention<T>({1, 1, 1, 1});
  check_attention<T>({2, 3, 3, 5});
  check_attention<T>({1, 17, 2, 8});
  check_attention<T>({2, 65, 2, 16});
}

TEST_CASE("sequences longer than a tile of keys") {
  check_attention<float>({1, detail::key_tile + 70, 1, 4});
  check_attention<bf16>({1, detail::key_tile + 1, 1, 3});
  CHECK(attention_scratch<float>({1, 100000, 1, 64}) == attention_scratch<float>({1, 5000, 8, 64}));
  CHECK(attention_gradient_scratch<float>({1, 100000, 1, 64}).size() * 4 < 1 << 20);
}

TEST_CASE("a sequence's bits do not depend on the others") {
  const AttentionSizes three{3, 70, 2, 8}, one{1, 70, 2, 8};
  const std::int64_t size = one.output().size();
  const auto input = random_values(9 * size, 1), gradient = random_values(3 * size, 2);
  const Run<float> whole(three, input, gradient);
  for (std::int64_t s = 0; s < 3; ++s) {
    const auto part = [&](const std::vector<double>& all, std::int64_t each) {
      return std::vector<double>(all.begin() + s * each, all.begin() + (s + 1) * each);
    };
    const Run<float> alone(one, part(input, 3 * size), part(gradient, size));
    CHECK(same_bits(alone.output.values(), part(whole.output.values(), size)));
    CHECK(same_bits(alone.d_qkv.values(), part(whole.d_qkv.values(), 3 * size)));
  }
}

TEST_CASE("scores of any size have a softmax") {
  const AttentionSizes sizes{1, 3, 1, 2};
  auto input = random_values(18, 1);
  for (double& value : input) value *= 1e4;
  const Run<float> run(sizes, input, random_values(6, 2));
  for (const double value : run.output.values()) CHECK(std::isfinite(value));
  for (const double value : run.d_qkv.values()) CHECK(std::isfinite(value));
}

TEST_CASE("a NaN reaches the tokens that see it, and no others") {
  const AttentionSizes sizes{1, 70, 1, 2};
  auto input = random_values(70 * 6, 1);
  input[66 * 6 + 2] = NAN;  // a key
  const Run<float> run(sizes, input, random_values(140, 2));
  for (std::size_t i = 0; i < 140; ++i) CHECK(std::isnan(run.output.values()[i]) == (i >= 2 * 66));
}

TEST_CASE("what does not fit is refused, and a Meter counts") {
  CHECK_THROWS_WITH_AS(
      attention_sizes({2, 3, 10}, 2),
      "attention: queries, keys and values of shape [2, 3, 10] do not fit 2 heads; wanted are "
      "[sequences, tokens, 3 * heads * width]",
      ShapeError);
  CHECK_THROWS_AS(attention_sizes({2, 12}, 2), ShapeError);
  const AttentionSizes sizes = attention_sizes({2, 5, 24}, 2);
  CHECK(sizes.width == 4);
  Meter<Host> meter;
  const auto tensor = [&](const Shape& shape) {
    return Tensor<float, Meter<Host>>{reinterpret_cast<float*>(meter.allocate(0)), shape};
  };
  attention(meter, tensor({2, 5, 24}), tensor(sizes.output()), tensor(sizes.statistics()),
            tensor(attention_scratch<float>(sizes)), sizes, {});
  CHECK(meter.product_flops() == 2 * 2 * 15 * 4 * 4);  // sequences, heads, pairs, width, two products
  CHECK_THROWS_AS(attention(meter, tensor({2, 5, 24}), tensor({2, 5, 7}), tensor(sizes.statistics()),
                            tensor(attention_scratch<float>(sizes)), sizes, {}),
                  ShapeError);
}

}  // namespace
}  // namespace triax::test
