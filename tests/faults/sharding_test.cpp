// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of sharded state: O-02, O-03, O-04, O-05, O-10, O-20, O-63.

#include <doctest/doctest.h>

#include "faults/trainer.hpp"
#include "support/allocations.hpp"

namespace triax::test {
namespace {

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-6); }

TEST_CASE("O-02 an empty parameter in the middle of a shard") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(
          world, {.net = scripted_net({filled("a", {8}, 1), filled("b", {0}, 1), filled("c", {24}, 1)}),
                  .extents = {.dp = 2},
                  .optimizer = Sgd{.lr = 0.5},
                  .stage = stage});
      std::vector<float> slopes(8, 2.0F / 8);
      slopes.insert(slopes.end(), 24, 2.0F / 24);
      const Outcome outcome = model->step(Rows::of({slopes}));
      CHECK(outcome.norm == about(0.8164966));
      CHECK(model->parameter("1.0.a") == std::vector<float>(8, 0.875F));
      CHECK(model->parameter("1.0.b").empty());
      CHECK(model->gradient("1.0.b").empty());
      for (const float c : model->parameter("1.0.c")) CHECK(c == about(0.9583333));
    });
  }
}

TEST_CASE("O-02 other places of empty parameters: first, last, alone in a unit, alone in a pipeline stage") {
  for (const Stage stage : every_stage) {
    for (const int pp : {1, 2}) {
      on_ranks(2 * pp, [&](ThreadCommunicator world) {
        ScriptedNet net =
            scripted_net({filled("first", {0, 7}, 1), filled("a", {33}, 1), filled("last", {3, 0}, 1)},
                         {filled("alone", {0}, 1)}, 1);
        const auto model = make_trainer<float>(world, {.net = net,
                                                       .extents = {.dp = 2, .pp = pp},
                                                       .optimizer = AdamW{.lr = 0.5, .weight_decay = 0},
                                                       .stage = stage});
        model->step(Rows::of({std::vector<float>(33, 1)}));
        for (const float a : model->parameter("1.0.a")) CHECK(a == about(0.5));
        for (const char* path : {"1.0.first", "1.0.last", "2.0.alone"}) {
          CHECK(model->parameter(path).empty());
          CHECK(model->optimizer_state(path, 0).empty());
        }
      });
    }
  }
}

TEST_CASE("O-03 fewer elements than ranks") {
  for (const Stage stage : every_stage) {
    std::vector<std::int64_t> updated(5);
    on_ranks(5, [&](ThreadCommunicator world) {
      Script script;
      const auto model = make_trainer<float>(
          world, {.net = scripted_net({filled("a", {1}, 1), filled("b", {1}, 2), filled("c", {1}, 3)}),
                  .extents = {.dp = 5},
                  .stage = stage,
                  .script = &script});
      const Outcome outcome = model->step(Rows::of({{1, 1, 1}}));
      CHECK(outcome.norm == about(1.7320508));
      CHECK(model->parameter("1.0.a")[0] == about(0.9));
      CHECK(model->parameter("1.0.b")[0] == about(1.9));
      CHECK(model->parameter("1.0.c")[0] == about(2.9));
      model->step(Rows::of({{1, 1, 1}}));  // sees the parameters of the first step, gathered or not
      CHECK(script.seen["a"][0] == about(0.9));
      for (const auto& [name, size] : script.updated_elements)
        updated[static_cast<std::size_t>(world.rank())] += size;
    });
    // Each of the parameters lies in a slice of its own; two ranks own padding alone.
    CHECK(updated == (stage == Stage::none ? std::vector<std::int64_t>(5, 3)
                                           : std::vector<std::int64_t>{1, 1, 1, 0, 0}));
  }
}

TEST_CASE("O-03 one element on three ranks, with Adam's state") {
  for (const Stage stage : every_stage) {
    on_ranks(3, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = scripted_net({filled("a", {1, 1, 1}, 1)}),
                                                     .extents = {.dp = 3},
                                                     .optimizer = AdamW{.lr = 0.1, .weight_decay = 0},
                                                     .stage = stage});
      for (int i = 0; i < 2; ++i) model->step(Rows::of({{static_cast<float>(world.rank())}}));  // a mean of 1
      CHECK(model->parameter("1.0.a")[0] == about(0.8));
      CHECK(model->optimizer_state("1.0.a", 0)[0] == about(0.1 + 0.9 * 0.1));
    });
  }
}

TEST_CASE("O-04 NaN in the padding of gradients and parameters reaches nothing") {
  for (const Stage stage : every_stage) {
    for (const double limit : {0.0, 1.0}) {
      on_ranks(4, [&](ThreadCommunicator world) {
        Script script{.poison_padding = true};
        const auto model =
            make_trainer<float>(world, {.net = scripted_net({filled("p", {2, 5}, 0)}),
                                        .extents = {.dp = 4},
                                        .optimizer = AdamW{.lr = 0.1, .weight_decay = 0},
                                        .stage = stage,
                                        .clip = {limit > 0 ? By::norm : By::none, static_cast<float>(limit)},
                                        .script = &script});
        const Rows ones = Rows::of({std::vector<float>(10, 1)});
        const Outcome outcome = model->step(ones);
        CHECK(outcome.norm == about(3.1622777));
        CHECK(outcome.applied);
        CHECK(model->parameter("1.0.p").size() == 10);
        for (const float p : model->parameter("1.0.p")) CHECK(p == about(-0.1));
        CHECK(model->step(ones).norm == about(3.1622777));
        for (const float p : model->parameter("1.0.p")) CHECK(p == about(-0.2));
      });
    }
  }
}

TEST_CASE("O-05 frozen parameters are neither updated nor decayed nor counted, and have no state") {
  for (const Stage stage : every_stage) {
    std::array<std::size_t, 2> state_bytes{};
    for (const bool with_frozen : {false, true}) {
      on_ranks(2, [&](ThreadCommunicator world) {
        Parameter frozen = filled("f", {2}, 5);
        frozen.frozen = true;
        std::vector<Parameter> parameters{filled("t", {2}, 1)};
        if (with_frozen) parameters.push_back(frozen);
        const auto model =
            make_trainer<float>(world, {.net = scripted_net(parameters),
                                        .extents = {.dp = 2},
                                        .optimizer = Sgd{.lr = 0.1, .momentum = 0.5, .weight_decay = 0.1},
                                        .stage = stage});
        const Outcome outcome = model->step(Rows::of({{1, 1, 3, 3}}));
        CHECK(outcome.norm == about(1.4142136));
        for (const float t : model->parameter("1.0.t")) CHECK(t == about(0.89));
        if (with_frozen) {
          CHECK(model->parameter("1.0.f") == std::vector{5.0F, 5.0F});
          CHECK(model->optimizer_state("1.0.f", 0).empty());
          CHECK(model->step_count("1.0.f") == 0);
          CHECK_THROWS_AS(model->gradient("1.0.f"), Error);
          CHECK(model->evaluate(Rows::of({{0, 0, 1, 0}})).sum == 2 * 5);  // on both ranks
        }
        if (world.rank() == 0) state_bytes[with_frozen] = model->bytes().optimizer;
      });
    }
    CHECK(state_bytes[0] == state_bytes[1]);
  }
}

TEST_CASE("O-05 a model of which everything is frozen runs, and changes nothing") {
  for (const Stage stage : every_stage) {
    on_ranks(2, [&](ThreadCommunicator world) {
      Parameter frozen = filled("f", {40}, 5);
      frozen.frozen = true;
      const auto model = make_trainer<float>(
          world,
          {.net = scripted_net({frozen}), .extents = {.dp = 2}, .stage = stage, .clip = {By::norm, 1}});
      const Outcome outcome = model->step(Rows::of({std::vector<float>(40, 1)}));
      CHECK(outcome.loss == 200);
      CHECK(outcome.norm == 0);
      CHECK(outcome.applied);
      CHECK(model->parameter("1.0.f") == std::vector<float>(40, 5));
    });
  }
}

TEST_CASE("O-10 the norm is taken over owned slices") {
  // 4 elements in one slice, and 40 over two: the owner of element 39 is rank 1.
  for (const std::size_t elements : {std::size_t{4}, std::size_t{40}}) {
    for (const Stage stage : every_stage) {
      std::array<double, 2> norms{};
      on_ranks(2, [&](ThreadCommunicator world) {
        const auto model = make_trainer<float>(
            world, {.net = scripted_net({filled("p", {static_cast<std::int64_t>(elements)}, 0)}),
                    .extents = {.dp = 2},
                    .optimizer = Sgd{.lr = 1},
                    .stage = stage,
                    .clip = {By::norm, 6.5F}});
        std::vector<float> slopes(elements);
        slopes[0] = world.rank() == 0 ? 2 : 4;
        slopes[1] = world.rank() == 0 ? 8 : 0;
        slopes[elements - 1] = world.rank() == 0 ? 0 : 24;
        const Outcome outcome = model->step(Rows::of({slopes}));
        CHECK(outcome.norm == 13);
        std::vector<float> moved(elements);
        moved[0] = -1.5F;
        moved[1] = -2;
        moved[elements - 1] = -6;
        CHECK(model->parameter("1.0.p") == moved);
        norms[static_cast<std::size_t>(world.rank())] = outcome.norm;
      });
      CHECK(norms[0] == norms[1]);
    }
  }
}

TEST_CASE("O-20 every micro-batch counts, in every window") {
  for (const Stage stage : every_stage) {
    for (const Accumulate accumulate : {Accumulate::local, Accumulate::sharded}) {
      if (accumulate == Accumulate::sharded && stage < Stage::gradients) continue;
      for (const int micro_batches : {4, 3, 2, 1}) {
        on_ranks(2, [&](ThreadCommunicator world) {
          const auto model =
              make_trainer<float>(world, {.net = scripted_net({filled("p", {1}, 0)}, {filled("q", {70}, 0)}),
                                          .extents = {.dp = 2},
                                          .stage = stage,
                                          .accumulate = accumulate,
                                          .micro_batches = micro_batches});
          std::vector<std::vector<float>> slopes;
          for (int i = 1; i <= 4; ++i) slopes.emplace_back(71, static_cast<float>(i + 4 * world.rank()));
          for (const double wanted : {-0.45, -0.90}) {
            model->step(Rows::of(slopes));
            CHECK(model->gradient("1.0.p")[0] == 4.5F);
            CHECK(model->gradient("2.0.q") == std::vector<float>(70, 4.5F));
            CHECK(model->parameter("1.0.p")[0] == about(wanted));
            for (const float q : model->parameter("2.0.q")) CHECK(q == about(wanted));
          }
        });
      }
    }
  }
}

TEST_CASE("O-63 memory and requests do not grow with steps") {
  for (const Extents& extents : {Extents{.dp = 2}, Extents{.pp = 2}}) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model =
          make_trainer<float>(world, {.net = scripted_net({filled("a", {100}, 1)}, {filled("b", {7}, 1)}, 2),
                                      .extents = extents,
                                      .optimizer = AdamW{.lr = 1e-3},
                                      .stage = Stage::gradients,
                                      .micro_batches = 2});
      const Rows rows = Rows::of({std::vector<float>(107, 1), std::vector<float>(107, -2)});
      std::vector<Outcome> log;  // plain numbers
      log.reserve(2000);
      std::size_t pending = 0;
      for (int i = 0; i < 200; ++i) log.push_back(model->step(rows));
      world.barrier().wait();
      const AllocationCount since;
      for (int i = 200; i < 2000; ++i) {
        log.push_back(model->step(rows));
        pending += Progress::of_this_thread().pending();
      }
      const std::size_t allocated = since.count();
      world.barrier().wait();  // the checks may allocate
      CHECK(allocated == 0);
      CHECK(pending == 0);
      CHECK(log.back().applied_steps == 2000);
    });
  }
}

}  // namespace
}  // namespace triax::test
