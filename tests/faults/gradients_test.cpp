// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of gradients, their norm and their owners: O-06, O-07, O-08, O-12, O-50, O-51.

#include <limits>

#include <doctest/doctest.h>

#include "faults/trainer.hpp"

namespace triax::test {
namespace {

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-6); }

TEST_CASE("O-06 a parameter that is used on some ranks only") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      Script script{.unused = {world.rank() == 0 ? "B" : "A"}};
      const auto model =
          make_trainer<float>(world, {.net = scripted_net({filled("A", {1}, 1), filled("B", {1}, 1)}),
                                      .extents = {.dp = 2},
                                      .optimizer = Sgd{.lr = 1},
                                      .stage = stage,
                                      .script = &script});
      // The layer of the other parameter is skipped: its input must not matter.
      model->step(Rows::of({world.rank() == 0 ? std::vector<float>{1, 77} : std::vector<float>{77, 1}}));
      CHECK(model->gradient("1.0.A") == std::vector{0.5F});
      CHECK(model->gradient("1.0.B") == std::vector{0.5F});
      CHECK(model->parameter("1.0.A") == std::vector{0.5F});
      CHECK(model->parameter("1.0.B") == std::vector{0.5F});
      CHECK(model->step_count("1.0.A") == 1);
    });
  }
}

TEST_CASE("O-06 Unused::error names the parameters and the ranks, on every rank, and training can go on") {
  for (const int pp : {1, 2}) {
    on_ranks(2 * pp, [&](ThreadCommunicator world) {
      const int dp_rank = world.rank() % 2;
      Script script{.unused = {dp_rank == 0 ? "B" : "A"}};
      const auto model =
          make_trainer<float>(world, {.net = scripted_net({filled("A", {1}, 1), filled("B", {1}, 1)}, {}, 2),
                                      .extents = {.dp = 2, .pp = pp},
                                      .data_parallel = {.unused = Unused::error},
                                      .script = &script});
      const Rows rows = Rows::of({{1, 1}});
      std::string message;
      try {
        model->step(rows);
      } catch (const MismatchError& error) {
        message = error.what();
      }
      CHECK(message.find("1.0.B on rank 0") != std::string::npos);
      CHECK(message.find("1.0.A on rank 1") != std::string::npos);
      CHECK(message.find("w on rank") == std::string::npos);
      script.unused.clear();
      model->step(rows);
      CHECK(model->gradient("1.0.A") == std::vector{1.0F});
      script.unused = {"A"};  // on no rank: the parameter has no gradient, which is no disagreement
      model->step(rows);
      CHECK(model->step_count("1.0.A") == 1);
      CHECK(model->step_count("1.0.B") == 2);
    });
  }
}

TEST_CASE("O-07 the step count is per parameter") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      Script script{.unused = {"B"}};
      const auto model =
          make_trainer<float>(world, {.net = scripted_net({filled("A", {1}, 1), filled("B", {1}, 1)}),
                                      .extents = {.dp = 2},
                                      .optimizer = AdamW{.lr = 0.01, .weight_decay = 0},
                                      .stage = stage,
                                      .script = &script});
      const Rows rows = Rows::of({{0.5F, 0.5F}});
      model->step(rows);
      CHECK(model->parameter("1.0.B") == std::vector{1.0F});
      CHECK(model->step_count("1.0.B") == 0);
      script.unused.clear();
      model->step(rows);
      CHECK(model->parameter("1.0.A")[0] == about(0.98));
      CHECK(model->parameter("1.0.B")[0] == about(0.99));
      CHECK(model->step_count("1.0.A") == 2);
      CHECK(model->step_count("1.0.B") == 1);
    });
  }
}

TEST_CASE("O-07 a parameter that rests keeps its count, its state and, despite weight decay, its value") {
  on_ranks(2, [](ThreadCommunicator world) {
    Script script;
    const auto model =
        make_trainer<float>(world, {.net = scripted_net({filled("A", {40}, 1)}, {filled("B", {1}, 1)}),
                                    .extents = {.dp = 2},
                                    .optimizer = AdamW{.lr = 0.01, .weight_decay = 0.1},
                                    .stage = Stage::parameters,
                                    .micro_batches = 2,
                                    .script = &script});
    const Rows rows = Rows::of({std::vector<float>(41, 1), std::vector<float>(41, 2)});
    model->step(rows);
    const std::vector<float> value = model->parameter("1.0.A");
    const std::vector<float> moment = model->optimizer_state("1.0.A", 1);
    script.unused = {"A"};
    for (int i = 0; i < 3; ++i) model->step(rows);
    CHECK(model->parameter("1.0.A") == value);
    CHECK(model->optimizer_state("1.0.A", 1) == moment);
    CHECK(model->step_count("1.0.A") == 1);
    CHECK(model->step_count("2.0.B") == 4);
    script.unused.clear();
    model->step(rows);
    CHECK(model->step_count("1.0.A") == 2);
  });
}

/// A parameter of two elements, 1, tied as "E".
Parameter tied(const char* name) {
  Parameter parameter = filled(name, {2}, 1);
  parameter.tie = "E";
  return parameter;
}

TEST_CASE("O-08 a tied embedding on the first and the last pipeline stage") {
  for (const bool clipped : {false, true}) {
    for (const Stage stage : every_stage) {
      for (const int dp : {1, 2}) {
        for (const int pp : {2, 1}) {
          on_ranks(dp * pp, [&](ThreadCommunicator world) {
            Script script;
            const auto model =
                make_trainer<float>(world, {.net = scripted_net({tied("input")}, {tied("output")}),
                                            .extents = {.dp = dp, .pp = pp},
                                            .stage = stage,
                                            .clip = {clipped ? By::norm : By::none, 1},
                                            .script = &script});
            const Rows rows = Rows::of({{3, 0, 0, 4}});
            const Outcome outcome = model->step(rows);
            CHECK(outcome.norm == 5);
            for (const char* path : {"1.0.input", "2.0.output"}) {
              CHECK(model->gradient(path) == std::vector{3.0F, 4.0F});
              CHECK(model->parameter(path)[0] == about(clipped ? 0.94 : 0.7));
              CHECK(model->parameter(path)[1] == about(clipped ? 0.92 : 0.6));
            }
            CHECK(model->parameter("1.0.input") == model->parameter("2.0.output"));
            model->evaluate(rows);
            for (const auto& [name, values] : script.seen)
              if (name == "input" || name == "output") CHECK(values == model->parameter("1.0.input"));
          });
        }
      }
    }
  }
}

TEST_CASE("O-08 three holders of one parameter, two of them in the same layer") {
  for (const Stage stage : every_stage) {
    for (const int dp : {1, 2}) {
      for (const int pp : {1, 2}) {
        on_ranks(dp * pp, [&](ThreadCommunicator world) {
          const auto model = make_trainer<float>(
              world,
              {.net = scripted_net({tied("one"), filled("between", {3}, 1), tied("two")}, {tied("three")}),
               .extents = {.dp = dp, .pp = pp},
               .stage = stage});
          const Outcome outcome = model->step(Rows::of({{1, 0, 0, 0, 0, 2, 1, 0, 3}}));
          CHECK(outcome.norm == 5);
          for (const char* path : {"1.0.one", "1.0.two", "2.0.three"}) {
            CHECK(model->gradient(path) == std::vector{3.0F, 4.0F});
            CHECK(model->parameter(path)[0] == about(0.7));
            CHECK(model->parameter(path)[1] == about(0.6));
          }
        });
      }
    }
  }
}

TEST_CASE("O-08 holders stay equal when one of them is not used") {
  for (const int pp : {1, 2}) {
    on_ranks(pp, [&](ThreadCommunicator world) {
      Script script{.unused = {"output"}};
      const auto model = make_trainer<float>(world, {.net = scripted_net({tied("input")}, {tied("output")}),
                                                     .extents = {.pp = pp},
                                                     .optimizer = AdamW{.lr = 0.1, .weight_decay = 0},
                                                     .script = &script});
      for (int i = 0; i < 2; ++i) {
        model->step(Rows::of({{3, 4, 7, 7}}));
        for (const char* path : {"1.0.input", "2.0.output"}) {
          CHECK(model->gradient(path) == std::vector{3.0F, 4.0F});
          CHECK(model->parameter(path)[0] == about(0.9 - 0.1 * i));
          CHECK(model->step_count(path) == i + 1);
        }
        CHECK(model->parameter("1.0.input") == model->parameter("2.0.output"));
      }
    });
  }
}

TEST_CASE("O-08 frozen holders of one parameter stay as they are") {
  for (const Stage stage : every_stage) {
    on_ranks(4, [&](ThreadCommunicator world) {
      Parameter input = tied("input"), output = tied("output");
      input.frozen = output.frozen = true;
      const auto model =
          make_trainer<float>(world, {.net = scripted_net({input}, {output, filled("free", {1}, 1)}),
                                      .extents = {.dp = 2, .pp = 2},
                                      .stage = stage});
      const Outcome outcome = model->step(Rows::of({{3, 0, 0, 4, 2}}));
      CHECK(outcome.norm == 2);
      CHECK(model->parameter("1.0.input") == std::vector{1.0F, 1.0F});
      CHECK(model->parameter("2.0.output") == std::vector{1.0F, 1.0F});
      CHECK(model->parameter("2.0.free")[0] == about(0.8));
    });
  }
}

TEST_CASE("O-12 large gradients are clipped, not poisoned") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = scripted_net({filled("p", {100}, 0)}),
                                                     .extents = {.dp = 2},
                                                     .optimizer = Sgd{.lr = 1},
                                                     .stage = stage,
                                                     .clip = {By::norm, 1}});
      const Outcome outcome = model->step(Rows::of({std::vector<float>(100, 1e20F)}));
      CHECK(outcome.norm == about(1e21));
      CHECK(outcome.applied);
      for (const float p : model->parameter("1.0.p")) CHECK(p == about(-0.1));
    });
  }
}

TEST_CASE("O-12 a step whose gradient is not finite is skipped on all ranks and changes no bit") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    for (const Stage stage : every_stage) {
      for (const By by : {By::none, By::norm, By::value}) {
        on_ranks(4, [&](ThreadCommunicator world) {
          const auto model = make_trainer<float>(
              world,
              {.net = scripted_net({filled("layer1.weight", {3}, 1)}, {filled("layer2.weight", {70}, 1)}, 1),
               .extents = {.dp = 2, .pp = 2},
               .optimizer = AdamW{.lr = 0.1},
               .stage = stage,
               .micro_batches = 2,
               .clip = {by, 1}});
          std::vector<std::vector<float>> slopes(2, std::vector<float>(73, 1));
          model->step(Rows::of(slopes));
          const std::vector<float> first = model->parameter("1.0.layer1.weight");
          const std::vector<float> second = model->parameter("2.0.layer2.weight");
          const std::vector<float> moment = model->optimizer_state("2.0.layer2.weight", 0);
          if (world.rank() == 1)
            slopes[1][72] = bad;  // one element, on one data-parallel rank, in one micro-batch
          if (world.rank() == 3) slopes[1][72] = bad;
          const Outcome outcome = model->step(Rows::of(slopes));
          CHECK(!outcome.applied);
          CHECK(outcome.applied_steps == 1);
          CHECK(outcome.skipped_steps == 1);
          CHECK(model->parameter("1.0.layer1.weight") == first);
          CHECK(model->parameter("2.0.layer2.weight") == second);
          CHECK(model->optimizer_state("2.0.layer2.weight", 0) == moment);
          CHECK(model->step_count("2.0.layer2.weight") == 1);
          slopes[1][72] = 1;
          CHECK(model->step(Rows::of(slopes)).applied);
          CHECK(model->step_count("2.0.layer2.weight") == 2);
          CHECK(model->parameter("2.0.layer2.weight") != second);
        });
      }
    }
  }
}

TEST_CASE("O-50 gradients are summed in the order of ranks, whatever their place, bucket and sharding") {
  constexpr std::array contributions{1e8F, 1.0F, -1e8F, 1.0F};  // in this order exactly 1
  for (const Stage stage : every_stage) {
    for (const std::size_t bucket : {std::size_t{1}, std::size_t{25} << 20}) {
      on_ranks(4, [&](ThreadCommunicator world) {
        const auto model = make_trainer<float>(
            world, {.net = scripted_net({filled("single", {1}, 0)}, {filled("many", {1000}, 0)}),
                    .extents = {.dp = 4},
                    .stage = stage,
                    .data_parallel = {.bucket_bytes = bucket}});
        std::vector<float> slopes(1001);
        for (const std::size_t place : {0U, 1U, 334U, 1000U})
          slopes[place] = contributions[static_cast<std::size_t>(world.rank())];
        std::vector<float> wanted(1000);
        for (const std::size_t place : {0U, 333U, 999U}) wanted[place] = 0.25F;  // the sum over four tokens
        for (int repeat = 0; repeat < 20; ++repeat) {
          model->step(Rows::of({slopes}));
          CHECK(model->gradient("1.0.single") == std::vector{0.25F});
          CHECK(model->gradient("2.0.many") == wanted);
        }
      });
    }
  }
}

TEST_CASE("O-51 replicas start from rank 0's values") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      Script script;
      Parameter frozen = filled("frozen", {1}, static_cast<float>(world.rank() + 1));
      frozen.frozen = true;
      const auto model = make_trainer<float>(
          world, {.net = scripted_net({filled("p", {1}, static_cast<float>(world.rank() + 1)), frozen}),
                  .extents = {.dp = 2},
                  .stage = stage,
                  .script = &script});
      const Rows rows = Rows::of({{1, 0}});
      CHECK(model->evaluate(rows).sum == 2);  // of two tokens
      CHECK(script.seen["p"] == std::vector{1.0F});
      CHECK(script.seen["frozen"] == std::vector{1.0F});
      model->step(rows);
      CHECK(model->parameter("1.0.p")[0] == about(0.9));
      model->evaluate(rows);
      CHECK(script.seen["p"][0] == about(0.9));
    });
  }
}

TEST_CASE("O-51 random initial values of ranks with different seeds") {
  for (const Replicas replicas : {Replicas::follow, Replicas::check}) {
    std::array<std::vector<float>, 2> seen;
    std::array<bool, 2> refused{};
    on_ranks(2, [&](ThreadCommunicator world) {
      Script script;
      Parameter parameter = filled("p", {50}, 0);
      parameter.init = Initialiser::normal(0, 1);
      const auto rank = static_cast<std::size_t>(world.rank());
      const auto model = make_trainer<float>(world, {.net = scripted_net({parameter}),
                                                     .extents = {.dp = 2},
                                                     .data_parallel = {.replicas = replicas},
                                                     .seed = 7 + rank,
                                                     .script = &script});
      try {
        model->evaluate(Rows::of({std::vector<float>(50)}));
      } catch (const MismatchError& error) {
        refused[rank] = std::string(error.what()).find("seed") != std::string::npos;
      }
      seen[rank] = script.seen["p"];
    });
    const bool check = replicas == Replicas::check;
    CHECK(refused == std::array{check, check});
    CHECK(seen[0] == seen[1]);
  }
}

TEST_CASE("O-51 Replicas::check names the parameter that differs") {
  std::array<std::string, 2> messages;
  on_ranks(2, [&](ThreadCommunicator world) {
    const auto model = make_trainer<float>(
        world, {.net = scripted_net(
                    {filled("same", {1}, 1), filled("other", {1}, static_cast<float>(world.rank()))}),
                .extents = {.dp = 2},
                .data_parallel = {.replicas = Replicas::check}});
    try {
      model->reserve({.sequences = 1, .tokens = 1, .input_features = 2});
    } catch (const MismatchError& error) {
      messages[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  for (const std::string& message : messages) CHECK(message.find("1.0.other") != std::string::npos);
}

TEST_CASE("O-51 values that are set are rank 0's on every rank") {
  on_ranks(2, [](ThreadCommunicator world) {
    Script script;
    const auto model = make_trainer<float>(
        world, {.net = scripted_net({filled("p", {2}, 1)}), .extents = {.dp = 2}, .script = &script});
    const Rows rows = Rows::of({{1, 1}});
    model->reserve(rows.batch().shape());
    const auto value = static_cast<float>(world.rank() + 5);
    model->set_parameter("1.0.p", {value, value});
    model->evaluate(rows);
    CHECK(script.seen["p"] == std::vector{5.0F, 5.0F});
  });
}

}  // namespace
}  // namespace triax::test
