// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The engine for the scripted model in fp32, and that the model does what its script says.

#include <doctest/doctest.h>

#include "faults/trainer_of.hpp"

namespace triax::test {

template std::unique_ptr<Trainer> make_trainer<float>(ThreadCommunicator world, const Setup& setup);

void on_ranks(int ranks, const std::function<void(ThreadCommunicator world)>& f) { run_threads(ranks, f); }

namespace {

TEST_CASE("the scripted model: a gradient is the mean of the batch's columns over the tokens that count") {
  on_ranks(1, [](ThreadCommunicator world) {
    const auto model = make_trainer<float>(
        world,
        {.net = scripted_net({filled("a", {1}, 2)}, {filled("b", {2}, 10)}), .optimizer = Sgd{.lr = 1}});
    const Rows rows =
        Rows::of({{1, 2, 3}, {100, 100, 100}, {5, 6, 7}, {50, 50, 50}}, {1, 0, 3, 1}).ignoring(3);
    const Outcome outcome = model->step(rows);
    CHECK(outcome.tokens == 4);
    CHECK(outcome.loss == (52 + 3 * 140) / 4.0);
    CHECK(model->gradient("1.0.a") == std::vector{4.0F});
    CHECK(model->gradient("2.0.b") == std::vector{5.0F, 6.0F});
    CHECK(model->parameter("1.0.a") == std::vector{-2.0F});
    CHECK(model->parameter("2.0.b") == std::vector{5.0F, 4.0F});
    CHECK(model->evaluate(rows).weight == 4);
  });
}

}  // namespace
}  // namespace triax::test
