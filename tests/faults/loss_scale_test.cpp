// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of loss scaling, through whole steps in fp16: O-11, O-14, O-15, O-16, O-17.

#include <limits>

#include <doctest/doctest.h>

#include "faults/trainer_of.hpp"

namespace triax::test {

template std::unique_ptr<Trainer> make_trainer<fp16>(ThreadCommunicator world, const Setup& setup);

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-6); }

TEST_CASE("O-11 gradients are clipped after the loss scale is undone") {
  for (const Stage stage : every_stage) {
    for (const int pp : {1, 2}) {
      on_ranks(2 * pp, [&](ThreadCommunicator world) {
        const auto train = [&](Clip<> clip) {
          const auto model =
              make_trainer<fp16>(world, {.net = scripted_net({filled("p", {1}, 0)}, {filled("q", {1}, 0)}),
                                         .extents = {.dp = 2, .pp = pp},
                                         .optimizer = Sgd{.lr = 1},
                                         .stage = stage,
                                         .clip = clip,
                                         .loss_scale = {.initial = 1024}});
          CHECK(model->step(Rows::of({{3, 4}})).norm == 5);
          CHECK(model->gradient("2.0.q") == std::vector{clip.by == By::value ? 3.5F : 4.0F});
          return std::array{model->parameter("1.0.p")[0], model->parameter("2.0.q")[0]};
        };
        const auto clipped = train({By::norm, 1});
        CHECK(clipped[0] == about(-0.6));
        CHECK(clipped[1] == about(-0.8));
        CHECK(train({By::norm, 10}) == std::array{-3.0F, -4.0F});
        CHECK(train({By::value, 3.5F}) == std::array{-3.0F, -3.5F});
      });
    }
  }
}

TEST_CASE("O-14 an overflow in the slice of one rank") {
  // Elements 0 to 31 belong to rank 0, the others to rank 1.
  for (const std::size_t place : {std::size_t{0}, std::size_t{39}}) {
    for (const Stage stage : every_stage) {
      on_ranks(2, [&](ThreadCommunicator world) {
        const auto model = make_trainer<fp16>(world, {.net = scripted_net({filled("p", {40}, 1)}),
                                                      .extents = {.dp = 2},
                                                      .optimizer = Sgd{.lr = 0.1, .momentum = 0.9},
                                                      .stage = stage});
        std::vector<float> slopes(40, 1);
        slopes[place] = infinity;
        const Outcome outcome = model->step(Rows::of({slopes}));
        CHECK(!outcome.applied);
        CHECK(outcome.loss_scale == 32768);
        CHECK(outcome.applied_steps == 0);
        CHECK(model->parameter("1.0.p") == std::vector<float>(40, 1));
        CHECK(model->optimizer_state("1.0.p", 0) == std::vector<float>(40));
      });
    }
  }
}

TEST_CASE("O-14 an overflow in one pipeline stage, on one replica, in one micro-batch") {
  for (const Stage stage : every_stage) {
    on_ranks(4, [&](ThreadCommunicator world) {
      const auto model =
          make_trainer<fp16>(world, {.net = scripted_net({filled("p", {3}, 1)}, {filled("q", {5}, 1)}, 2),
                                     .extents = {.dp = 2, .pp = 2},
                                     .optimizer = AdamW{.lr = 0.1},
                                     .stage = stage,
                                     .micro_batches = 3});
      std::vector<std::vector<float>> slopes(3, std::vector<float>(8, 1));
      if (world.rank() % 2 == 1) slopes[1][0] = 1e30F;  // finite, until the stream is rounded to fp16
      const Outcome outcome = model->step(Rows::of(slopes));
      CHECK(!outcome.applied);
      CHECK(outcome.loss_scale == 32768);
      for (const char* path : {"1.0.p", "2.0.q", "3.0.w", "3.1.w"})
        for (const float value : model->parameter(path)) CHECK(value == 1);
      CHECK(model->step_count("2.0.q") == 0);
    });
  }
}

TEST_CASE("O-15 the scale stops at its floor, and the limit of skips there ends training") {
  on_ranks(2, [](ThreadCommunicator world) {
    const auto model =
        make_trainer<fp16>(world, {.net = scripted_net({filled("p", {1}, 1)}),
                                   .extents = {.dp = 2},
                                   .stage = Stage::optimizer,
                                   .loss_scale = {.initial = 16, .floor = 1, .skip_limit = 3}});
    const Rows overflow = Rows::of({{infinity}});
    for (const float scale : {8.0F, 4.0F, 2.0F, 1.0F, 1.0F, 1.0F}) {
      const Outcome outcome = model->step(overflow);
      CHECK(outcome.loss_scale == scale);
      CHECK(outcome.applied_steps == 0);
    }
    std::string message;
    try {
      model->step(overflow);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.find("floor of 1") != std::string::npos);
    CHECK(message.find("3 steps in a row") != std::string::npos);
    CHECK(model->parameter("1.0.p") == std::vector{1.0F});
  });
}

TEST_CASE("O-15 without a limit training goes on at the floor, and recovers") {
  on_ranks(1, [](ThreadCommunicator world) {
    const auto model = make_trainer<fp16>(world, {.net = scripted_net({filled("p", {1}, 1)}),
                                                  .loss_scale = {.initial = 4, .floor = 2, .interval = 2}});
    for (int i = 0; i < 10; ++i) CHECK(model->step(Rows::of({{infinity}})).loss_scale == 2);
    model->step(Rows::of({{1}}));
    const Outcome outcome = model->step(Rows::of({{1}}));
    CHECK(outcome.loss_scale == 4);
    CHECK(outcome.applied_steps == 2);
    CHECK(outcome.skipped_steps == 10);
  });
}

TEST_CASE("O-16 the growth interval counts good steps in a row") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<fp16>(world, {.net = scripted_net({filled("p", {1}, 1)}),
                                                    .extents = {.dp = 2},
                                                    .stage = stage,
                                                    .loss_scale = {.initial = 8, .interval = 3}});
      const auto scale_after = [&](float slope) {
        const Outcome outcome = model->step(Rows::of({{slope}}));
        CHECK(model->gradient("1.0.p") == std::vector{slope});  // whatever the next scale
        return outcome.loss_scale;
      };
      for (const auto& [slope, scale] :
           {std::pair{1.0F, 8.0F}, {1, 8}, {infinity, 4}, {1, 4}, {1, 4}, {1, 8}, {1, 8}})
        CHECK(scale_after(slope) == scale);
    });
  }
}

TEST_CASE("O-17 a skipped step moves neither the learning rate nor the counts") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      // The k-th applied update has the rate 0.1 k.
      const auto model = make_trainer<fp16>(world, {.net = scripted_net({filled("p", {1}, 0)}),
                                                    .extents = {.dp = 2},
                                                    .optimizer = Sgd{.lr = LearningRate(1).warm_up(10)},
                                                    .stage = stage});
      model->step(Rows::of({{infinity}}));
      model->step(Rows::of({{infinity}}));
      for (const double rate : {0.1, 0.2, 0.3})
        CHECK(model->step(Rows::of({{1}})).learning_rate == about(rate));
      CHECK(model->parameter("1.0.p")[0] == about(-0.6));
      const Outcome outcome = model->step(Rows::of({{infinity}}));
      CHECK(outcome.applied_steps == 3);
      CHECK(outcome.skipped_steps == 3);
      CHECK(model->step_count("1.0.p") == 3);
    });
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<fp16>(world, {.net = scripted_net({filled("p", {1}, 1)}),
                                                    .extents = {.dp = 2},
                                                    .optimizer = AdamW{.lr = 0.1, .weight_decay = 0},
                                                    .stage = stage});
      model->step(Rows::of({{infinity}}));
      model->step(Rows::of({{1}}));
      CHECK(model->parameter("1.0.p")[0] == about(0.9));
    });
  }
}

}  // namespace
}  // namespace triax::test
