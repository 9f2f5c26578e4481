// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Small whole numbers, so that every sum is exact in every type.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/kernels/embedding.hpp>

#include "support/numbers.hpp"

namespace triax {
namespace {

using test::tensor;
using Numbers = std::vector<double>;

/// Whole numbers in [-9, 9].
Numbers whole_numbers(std::int64_t count, std::uint64_t seed) {
  Numbers numbers;
  for (const std::int32_t number : test::random_tokens(count, seed, 19)) numbers.push_back(number - 9);
  return numbers;
}

template <class T>
struct Problem {
  std::int64_t width;
  std::int64_t first_position = 0;
  std::vector<std::int32_t> ids{4, 0, 4, 2, 4, 1};  // two sequences of three tokens
  std::int64_t vocabulary = 5;
  std::int64_t context = 4;

  Host host{};
  std::vector<T> table = test::rounded_to<T>(whole_numbers(vocabulary * width, 1));
  std::vector<T> positions = test::rounded_to<T>(whole_numbers(context * width, 2));
  std::vector<T> dy = test::rounded_to<T>(whole_numbers(6 * width, 3));
  std::vector<T> y = std::vector<T>(dy.size(), test::from_double<T>(99));
  std::vector<accumulator_t<T>> table_gradient = std::vector<accumulator_t<T>>(table.size(), 1);
  std::vector<accumulator_t<T>> position_gradient = std::vector<accumulator_t<T>>(positions.size(), 2);

  Tensor<const std::int32_t, Host> tokens() const { return {ids.data(), {2, 3}}; }

  void forward(bool learned) {
    const auto second = tensor(positions, {context, width});
    embed(host, tokens(), tensor(table, {vocabulary, width}), learned ? second : Tensor<T, Host>{},
          tensor(y, {2, 3, width}), Positions{first_position});
  }
  void backward(bool table_wanted, bool positions_wanted) {
    using Gradient = Tensor<accumulator_t<T>, Host>;
    embed_gradient(host, tensor(dy, {2, 3, width}), tokens(),
                   table_wanted ? tensor(table_gradient, {vocabulary, width}) : Gradient{},
                   positions_wanted ? tensor(position_gradient, {context, width}) : Gradient{},
                   Positions{first_position});
  }
};

TEST_CASE_TEMPLATE("embedding and its gradient are exact on whole numbers", T, float, double, bf16, fp16) {
  for (const std::int64_t width : {1, 3, 8, 21}) {
    Problem<T> problem{.width = width, .first_position = 1};
    const auto n = static_cast<std::size_t>(width);
    Numbers with_positions;
    Numbers without;
    Numbers table_gradient(problem.table.size(), 1);
    Numbers position_gradient(problem.positions.size(), 2);
    for (std::size_t place = 0; place < 6; ++place)
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = static_cast<std::size_t>(problem.ids[place]) * n + i;
        const std::size_t position = (1 + place % 3) * n + i;
        without.push_back(test::to_double(problem.table[row]));
        with_positions.push_back(without.back() + test::to_double(problem.positions[position]));
        table_gradient[row] += test::to_double(problem.dy[place * n + i]);
        position_gradient[position] += test::to_double(problem.dy[place * n + i]);
      }
    problem.forward(true);
    CHECK(test::to_doubles(problem.y) == with_positions);
    problem.forward(false);
    CHECK(test::to_doubles(problem.y) == without);

    problem.backward(true, false);
    CHECK(test::to_doubles(problem.table_gradient) == table_gradient);
    CHECK(test::to_doubles(problem.position_gradient) == Numbers(problem.positions.size(), 2));
    problem.backward(false, true);
    CHECK(test::to_doubles(problem.table_gradient) == table_gradient);
    CHECK(test::to_doubles(problem.position_gradient) == position_gradient);
    problem.backward(false, false);
    CHECK(test::to_doubles(problem.table_gradient) == table_gradient);
  }
}

TEST_CASE(
    "a number outside the vocabulary is an error that names both, and nothing outside the table is read") {
  for (const std::int32_t id : {5, -1, 2000000000}) {
    Problem<float> problem{.width = 3};
    problem.ids[4] = id;
    const std::string message = "the number of token 4 of the micro-batch is " + std::to_string(id) +
                                ", but the vocabulary has 5 tokens, numbered from 0; give the model a larger "
                                "vocabulary or mend the data";
    CHECK_THROWS_WITH_AS(problem.forward(true), message.c_str(), ShapeError);
  }
}

TEST_CASE("positions beyond the context are an error that names both") {
  Problem<float> problem{.width = 3, .first_position = 2};
  CHECK_THROWS_WITH_AS(
      problem.forward(true),
      "the micro-batch holds the positions 2 to 4, but the embedding has learned positions for a "
      "context of 4 tokens; give it a longer context or cut the sequences",
      ShapeError);
  CHECK_NOTHROW(problem.forward(false));
  problem.first_position = 1;
  CHECK_NOTHROW(problem.forward(true));
}

}  // namespace
}  // namespace triax
