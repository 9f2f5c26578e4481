// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of averaging over tokens: O-21, O-22, O-56.

#include <cmath>

#include <doctest/doctest.h>

#include "faults/trainer.hpp"

namespace triax::test {
namespace {

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-6); }

ScriptedNet net_of_w(float value = 1) { return scripted_net({filled("w", {1}, value)}); }

TEST_CASE("O-21 the mean over tokens, not of means: ranks") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model =
          make_trainer<float>(world, {.net = net_of_w(), .extents = {.dp = 2}, .stage = stage});
      const Rows rows =
          world.rank() == 0 ? Rows::of({{10}, {99}, {99}}, {1, 0, 0}) : Rows::of({{2}, {2}, {2}});
      for (const Outcome& outcome : {model->forward_backward(rows)}) {
        CHECK(outcome.loss == 4);
        CHECK(outcome.tokens == 4);
        CHECK(model->gradient("1.0.w") == std::vector{4.0F});
      }
      const LossSum sum = model->evaluate(rows);
      CHECK(sum.sum == 16);
      CHECK(sum.weight == 4);
    });
  }
}

TEST_CASE("O-21 the mean over tokens, not of means: micro-batches, weights and sequences of several tokens") {
  on_ranks(1, [](ThreadCommunicator world) {
    const auto model = make_trainer<float>(world, {.net = net_of_w(), .micro_batches = 2});
    // One token counts in the first micro-batch, three in the second.
    CHECK(model->step(Rows::of({{99}, {10}, {99}, {2}, {2}, {2}}, {0, 1, 0, 1, 1, 1})).loss == 4);
    CHECK(model->gradient("1.0.w") == std::vector{4.0F});
  });
  on_ranks(2, [](ThreadCommunicator world) {
    const auto model =
        make_trainer<float>(world, {.net = net_of_w(), .extents = {.dp = 2}, .micro_batches = 2});
    // Weights need not be 0 or 1: (0.5 * 10 + 1.5 * 2) / 2 per rank.
    const Rows rows = Rows::of({{10}, {2}, {2}, {10}}, {0.5F, 0.5F, 1, 0}).in_sequences_of(2);
    const Outcome outcome = model->step(rows);
    CHECK(outcome.loss == 4);
    CHECK(outcome.tokens == 4);
    CHECK(model->gradient("1.0.w") == std::vector{4.0F});
  });
}

TEST_CASE("O-22 the last window of an epoch is shorter: its own tokens divide it, and nothing is left over") {
  for (const int dp : {1, 2}) {
    for (const Stage stage : every_stage) {
      on_ranks(dp, [&](ThreadCommunicator world) {
        const auto model = make_trainer<float>(world, {.net = net_of_w(0),
                                                       .extents = {.dp = dp},
                                                       .stage = stage,
                                                       .accumulate = Accumulate::by_stage,
                                                       .micro_batches = 2});
        const std::array windows{Rows::of({{1}, {2}}), Rows::of({{3}, {4}}), Rows::of({{5}})};
        const std::array means{1.5F, 3.5F, 5.0F};
        for (const double wanted : {-1.0, -2.0}) {
          for (std::size_t i = 0; i < windows.size(); ++i) {
            model->step(windows[i]);
            CHECK(model->gradient("1.0.w") == std::vector{means[i]});
          }
          CHECK(model->parameter("1.0.w")[0] == about(wanted));
        }
        CHECK(model->step_count("1.0.w") == 6);
      });
    }
  }
}

TEST_CASE(
    "O-22 a learning-rate schedule moves once a window; more micro-batches than sequences are no more than "
    "sequences") {
  on_ranks(1, [](ThreadCommunicator world) {
    Script script;
    const auto model = make_trainer<float>(world, {.net = scripted_net({filled("w", {1}, 0)}, {}, 1),
                                                   .optimizer = Sgd{.lr = LearningRate(3).warm_up(3)},
                                                   .micro_batches = 7,
                                                   .script = &script});
    for (const double rate : {1.0, 2.0, 3.0, 3.0})
      CHECK(model->step(Rows::of({{1}, {1}, {1}})).learning_rate == rate);
    CHECK(script.micro_batches == std::vector<std::int64_t>(12, 1));
  });
}

TEST_CASE("O-56 a rank whose labels are all ignored") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(
          world, {.net = net_of_w(), .extents = {.dp = 2}, .stage = stage, .micro_batches = 2});
      const Rows all = Rows::of({{5}, {6}, {7}, {8}});
      const Rows rows = world.rank() == 0 ? all.ignoring(0).ignoring(1).ignoring(2).ignoring(3)
                                          : Rows::of({{99}, {2}, {4}, {99}}).ignoring(0).ignoring(3);
      const Outcome outcome = model->step(rows);
      CHECK(outcome.loss == 3);
      CHECK(outcome.tokens == 2);
      CHECK(outcome.norm == 3);
      CHECK(model->gradient("1.0.w") == std::vector{3.0F});
    });
  }
}

TEST_CASE("O-56 a step without any token") {
  for (const Stage stage : every_stage) {
    for (const int pp : {1, 2}) {
      on_ranks(2 * pp, [&](ThreadCommunicator world) {
        const auto model = make_trainer<float>(world, {.net = scripted_net({filled("w", {1}, 1)}, {}, 2),
                                                       .extents = {.dp = 2, .pp = pp},
                                                       .optimizer = Sgd{.lr = 0.1, .momentum = 0.9},
                                                       .stage = stage,
                                                       .clip = {By::norm, 1}});
        const Rows nothing = Rows::of({{2}, {4}}, {0, 0});
        const Outcome outcome = model->step(nothing);
        CHECK(outcome.loss == 0);
        CHECK(outcome.tokens == 0);
        CHECK(outcome.norm == 0);
        CHECK(outcome.applied);
        CHECK(model->gradient("1.0.w") == std::vector{0.0F});
        CHECK(model->parameter("1.0.w") == std::vector{1.0F});
        CHECK(model->evaluate(nothing).weight == 0);
        CHECK(model->step(Rows::of({{2}, {4}})).loss == 3);
        CHECK(std::isfinite(model->parameter("1.0.w")[0]));
      });
    }
  }
}

TEST_CASE("O-56 weights that cannot be a count are refused on every rank") {
  for (const float bad : {-3.0F, std::nanf(""), HUGE_VALF}) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = net_of_w(), .extents = {.dp = 2}});
      const float weight = world.rank() == 1 ? bad : 1;
      CHECK_THROWS_AS(model->step(Rows::of({{2}}, {weight})), Error);
      CHECK(model->step(Rows::of({{2}}, {1})).loss == 2);  // nothing was broken
    });
  }
}

}  // namespace
}  // namespace triax::test
