// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of bf16: O-11's unscaled half, O-18, O-19.

#include <cmath>

#include <doctest/doctest.h>

#include "faults/trainer_of.hpp"

namespace triax::test {

template std::unique_ptr<Trainer> make_trainer<bf16>(ThreadCommunicator world, const Setup& setup);

namespace {

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-6); }

TEST_CASE("O-11 clipping works in bf16, which has no loss scale") {
  on_ranks(2, [](ThreadCommunicator world) {
    const auto model = make_trainer<bf16>(world, {.net = scripted_net({filled("p", {2}, 0)}),
                                                  .extents = {.dp = 2},
                                                  .optimizer = Sgd{.lr = 1},
                                                  .stage = Stage::gradients,
                                                  .clip = {By::norm, 1}});
    const Outcome outcome = model->step(Rows::of({{3, 4}}));
    CHECK(outcome.norm == 5);
    CHECK(outcome.loss_scale == 1);
    CHECK(model->parameter("1.0.p")[0] == about(-0.6));
    CHECK(model->parameter("1.0.p")[1] == about(-0.8));
  });
}

TEST_CASE("O-12 a gradient that is not finite skips the step in bf16, too, with either rounding") {
  for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
    for (const Stage stage : every_stage) {
      on_ranks(2, [&](ThreadCommunicator world) {
        Script script;
        const auto model = make_trainer<bf16>(world, {.net = scripted_net({filled("p", {40}, 1 + 0x1p-9F)}),
                                                      .extents = {.dp = 2},
                                                      .optimizer = AdamW{.lr = 0.1},
                                                      .stage = stage,
                                                      .rounding = rounding,
                                                      .script = &script});
        std::vector<float> slopes(40, 1);
        model->step(Rows::of({slopes}));
        model->evaluate(Rows::of({slopes}));
        const std::vector<float> masters = model->parameter("1.0.p"), rounded = script.seen["p"];
        if (world.rank() == 1) slopes[3] = HUGE_VALF;
        CHECK(!model->step(Rows::of({slopes})).applied);
        model->evaluate(Rows::of({slopes}));
        CHECK(model->parameter("1.0.p") == masters);
        CHECK(script.seen["p"] == rounded);
        script.unused = {"p"};  // nor is a parameter that rests rounded anew
        CHECK(model->step(Rows::of({std::vector<float>(40, 1)})).applied);
        model->evaluate(Rows::of({slopes}));
        CHECK(script.seen["p"] == rounded);
      });
    }
  }
}

TEST_CASE("O-18 small updates add up in fp32 masters") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      Script script;
      Parameter still = filled("still", {3}, 1);  // the same without a gradient
      const auto model = make_trainer<bf16>(world, {.net = scripted_net({filled("w", {1}, 1), still}),
                                                    .extents = {.dp = 2},
                                                    .optimizer = Sgd{.lr = 6e-4},
                                                    .stage = stage,
                                                    .script = &script});
      for (int i = 0; i < 100; ++i) model->step(Rows::of({{1, 0, 0, 0}}));
      CHECK(model->parameter("1.0.w")[0] == doctest::Approx(0.94).epsilon(1e-5));
      model->evaluate(Rows::of({{1, 0, 0, 0}}));
      CHECK(script.seen["w"] == std::vector{0.94140625F});
      CHECK(script.seen["still"] == std::vector<float>(3, 1));
    });
  }
}

TEST_CASE("O-18 ties share their masters: three holders over two stages keep the same bits") {
  for (const Stage stage : every_stage) {
    on_ranks(4, [&](ThreadCommunicator world) {
      Script script;
      const auto tied = [](const char* name) {
        Parameter parameter = filled(name, {40}, 1);
        parameter.tie = "E";
        return parameter;
      };
      const auto model = make_trainer<bf16>(world, {.net = scripted_net({tied("a"), tied("b")}, {tied("c")}),
                                                    .extents = {.dp = 2, .pp = 2},
                                                    .optimizer = AdamW{.lr = 1e-3},
                                                    .stage = stage,
                                                    .script = &script});
      std::vector<float> slopes(120);
      for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] = static_cast<float>(i % 7) - 2.6F;
      for (int i = 0; i < 20; ++i) model->step(Rows::of({slopes}));
      CHECK(model->parameter("1.0.a") == model->parameter("1.0.b"));
      CHECK(model->parameter("1.0.a") == model->parameter("2.0.c"));
      CHECK(model->parameter("1.0.a")[1] != 1);
      model->evaluate(Rows::of({slopes}));
      std::vector<float> rounded;
      for (const float value : model->parameter("1.0.a")) rounded.push_back(static_cast<float>(bf16(value)));
      for (const auto& [name, values] : script.seen)
        if (values.size() == 40) CHECK(values == rounded);
    });
  }
}

TEST_CASE("O-19 stochastic rounding is unbiased") {
  on_ranks(1, [](ThreadCommunicator world) {
    Script script;
    constexpr int elements = 100000;
    const auto model = make_trainer<bf16>(world, {.net = scripted_net({filled("x", {elements}, 1 + 0x1p-9F)}),
                                                  .optimizer = Sgd{.lr = 0},
                                                  .rounding = Rounding::stochastic,
                                                  .script = &script});
    const Rows rows = Rows::of({std::vector<float>(elements, 1)});
    std::vector<float> before;
    for (int step = 0; step < 3; ++step) {
      model->step(rows);
      model->evaluate(rows);
      const std::vector<float>& x = script.seen["x"];
      int up = 0, other = 0;
      for (const float value : x)
        (value == 1.0078125F ? up : other) += value == 1.0078125F || value != 1 ? 1 : 0;
      CHECK(other == 0);
      CHECK(std::abs(up / 1e5 - 0.25) < 0.006);
      CHECK(x != before);  // every step draws anew
      before = x;
    }
  });
}

TEST_CASE("O-19 stochastic rounding is the same on replicas, for every sharding, and when repeated") {
  std::vector<float> first;
  for (const Stage stage : every_stage) {
    for (const int dp : {1, 2}) {
      for (const std::uint64_t seed : {5U, 6U}) {
        std::vector<std::vector<float>> seen(static_cast<std::size_t>(dp));
        on_ranks(dp, [&](ThreadCommunicator world) {
          Script script;
          const auto model =
              make_trainer<bf16>(world, {.net = scripted_net({filled("first", {3}, 1), filled("w", {90}, 1)}),
                                         .extents = {.dp = dp},
                                         .optimizer = Sgd{.lr = 1e-3},
                                         .stage = stage,
                                         .rounding = Rounding::stochastic,
                                         .seed = seed,
                                         .script = &script});
          const Rows rows = Rows::of({std::vector<float>(93, 1)});
          for (int i = 0; i < 50; ++i) model->step(rows);
          model->evaluate(rows);
          seen[static_cast<std::size_t>(world.rank())] = script.seen["w"];
        });
        for (const std::vector<float>& w : seen) CHECK(w == seen[0]);
        if (first.empty()) first = seen[0];
        CHECK((seen[0] == first) == (seed == 5));
      }
    }
  }
}

}  // namespace
}  // namespace triax::test
