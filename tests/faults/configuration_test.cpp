// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of set-up, and of errors on one rank: O-64, and what is of its kind. (O-61 is about meshes:
// tests/comm.)

#include <doctest/doctest.h>

#include <triax/schedule/gpipe.hpp>

#include "faults/trainer.hpp"

namespace triax::test {
namespace {

/// What the Expected that f throws says; empty when it throws nothing.
template <class Expected, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Expected& error) {
    return error.what();
  }
  return {};
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("O-64 the error of a rank is shown with its rank") {
  std::array<std::string, 4> heard;
  const std::string raised = message_of<std::exception>([&] {
    on_ranks(4, [&](ThreadCommunicator world) {
      heard[static_cast<std::size_t>(world.rank())] = message_of<CommunicatorError>([&] {
        if (world.rank() == 3) throw std::runtime_error("no data left");
        world.barrier().wait();
      });
      if (world.rank() != 3) throw std::runtime_error("another end");
    });
  });
  CHECK(raised == "no data left");
  for (std::size_t rank = 0; rank < 3; ++rank) CHECK(contains(heard[rank], "rank 3 failed: no data left"));
}

TEST_CASE("a layer that throws on one rank ends the step on all, in every layout") {
  for (const Stage stage : every_stage) {
    for (const Extents& extents : {Extents{.dp = 4}, Extents{.pp = 4}, Extents{.dp = 2, .pp = 2}}) {
      std::array<std::string, 4> heard;
      const std::string raised = message_of<std::exception>([&] {
        on_ranks(4, [&](ThreadCommunicator world) {
          Script script;
          const auto model = make_trainer<float>(
              world, {.net = scripted_net({filled("first", {5}, 1)}, {filled("second", {50}, 1)}, 3),
                      .extents = extents,
                      .stage = stage,
                      .micro_batches = 3,
                      .script = &script});
          const Rows rows = Rows::of(std::vector<std::vector<float>>(3, std::vector<float>(55, 1)));
          model->step(rows);
          if (world.rank() == 0) script.failing = "first";
          heard[static_cast<std::size_t>(world.rank())] =
              message_of<CommunicatorError>([&] { model->step(rows); });
          CHECK(contains(message_of<Error>([&] { model->step(rows); }), "construct the model anew"));
        });
      });
      CHECK(contains(raised, "the layer of first fails"));
      for (std::size_t rank = 1; rank < 4; ++rank) CHECK(contains(heard[rank], "rank 0 failed"));
    }
  }
}

TEST_CASE("an exception reaches the other ranks even if its own catches it and waits for them") {
  for (const Extents& extents : {Extents{.dp = 3}, Extents{.pp = 3}}) {
    std::array<std::string, 3> heard;
    CHECK_THROWS_AS(on_ranks(3,
                             [&](ThreadCommunicator world) {
                               Script script{.failing = world.rank() == 0 ? "first" : ""};
                               const ScriptedNet net = scripted_net({filled("first", {5}, 1)}, {}, 3);
                               const auto model = make_trainer<float>(
                                   world, {.net = net, .extents = extents, .script = &script});
                               const Rows rows = Rows::of({std::vector<float>(5, 1)});
                               std::string& text = heard[static_cast<std::size_t>(world.rank())];
                               text = message_of<std::exception>([&] { model->step(rows); });
                               world.barrier().wait();
                             }),
                    CommunicatorError);
    CHECK(heard[0] == "the layer of first fails");
    for (std::size_t rank = 1; rank < 3; ++rank) CHECK(contains(heard[rank], "rank 0 failed"));
  }
}

TEST_CASE("on one rank a step that fails leaves a model that can be used") {
  on_ranks(1, [](ThreadCommunicator world) {
    Script script{.failing = "b"};
    const auto model =
        make_trainer<float>(world, {.net = scripted_net({filled("a", {1}, 1)}, {filled("b", {1}, 1)}),
                                    .micro_batches = 2,
                                    .script = &script});
    const Rows rows = Rows::of({{1, 2}, {3, 4}});
    CHECK_THROWS_AS(model->step(rows), std::runtime_error);
    CHECK_THROWS_AS(model->update(), Error);  // there is no gradient
    script.failing.clear();
    CHECK(model->step(rows).loss == 5);
    CHECK(model->gradient("2.0.b") == std::vector{3.0F});
  });
}

/// What all ranks say that are given `setup_of(rank)`, and a batch of `sequences_of(rank)` sequences.
template <class Expected>
void refused_on_all(
    int ranks, const char* part, const std::function<void(Setup&, int)>& change,
    const std::function<int(int)>& sequences_of = [](int) { return 2; }) {
  on_ranks(ranks, [&](ThreadCommunicator world) {
    Setup setup{.net = scripted_net({filled("p", {3}, 1)}, {filled("q", {3}, 1)}, 2),
                .extents = {.dp = ranks}};
    change(setup, world.rank());
    const auto sequences = static_cast<std::size_t>(sequences_of(world.rank()));
    const Rows rows = Rows::of(std::vector<std::vector<float>>(sequences, std::vector<float>(6, 1)));
    const auto model = make_trainer<float>(world, setup);
    const std::string message = message_of<Expected>([&] { model->step(rows); });
    INFO(message);
    CHECK(contains(message, part));
  });
}
/// The second parameter of the scripted model's first layer.
Parameter& parameter_p(Setup& setup) { return std::get<1>(setup.net.layers).declared[0]; }

TEST_CASE("ranks that were given different models are told, and which parameter differs") {
  using Change = std::function<void(Setup&, int)>;
  refused_on_all<MismatchError>(2, "1.0.p",
                                Change([](Setup& s, int rank) { parameter_p(s).shape = {3 + rank}; }));
  refused_on_all<MismatchError>(
      3, "1.0.", Change([](Setup& s, int rank) { parameter_p(s).name = rank == 2 ? "r" : "p"; }));
  refused_on_all<MismatchError>(2, "1.0.p",
                                Change([](Setup& s, int rank) { parameter_p(s).frozen = rank == 1; }));
  refused_on_all<MismatchError>(2, "1.0.p",
                                Change([](Setup& s, int rank) { parameter_p(s).decay = rank == 1; }));
  refused_on_all<MismatchError>(
      2, "1.0.p", Change([](Setup& s, int rank) { parameter_p(s).tie = rank == 1 ? "tie" : ""; }));
  refused_on_all<MismatchError>(2, "numbers of parameters", Change([](Setup& s, int rank) {
                                  std::get<3>(s.net.layers).count = 2 + rank;
                                }));
}

TEST_CASE("ranks that were given different strategies, optimizers or batches are told") {
  using Change = std::function<void(Setup&, int)>;
  for (const bool pipeline : {false, true}) {
    const auto also = [pipeline](auto change) {
      return Change([=](Setup& setup, int rank) {
        if (pipeline) setup.extents = {.pp = 2};
        change(setup, rank);
      });
    };
    refused_on_all<MismatchError>(2, "micro-batches",
                                  also([](Setup& s, int rank) { s.micro_batches = 1 + rank; }));
    refused_on_all<MismatchError>(2, "sharding", also([](Setup& s, int rank) {
                                    s.stage = rank == 0 ? Stage::none : Stage::parameters;
                                  }));
    refused_on_all<MismatchError>(
        2, "bucket", also([](Setup& s, int rank) { s.data_parallel.bucket_bytes = rank == 0 ? 1 : 1000; }));
    refused_on_all<MismatchError>(2, "optimizer", also([](Setup& s, int rank) {
                                    if (rank == 1) s.optimizer = AdamW{};
                                  }));
    refused_on_all<MismatchError>(2, "schedule", also([](Setup& s, int rank) {
                                    if (rank == 1) s.schedule = GPipe{};
                                  }));
    refused_on_all<ShapeError>(2, "same number of sequences", also([](Setup&, int) {}),
                               [](int rank) { return 1 + rank; });
  }
}

TEST_CASE("a later batch must have the same size on all ranks, of a pipeline too, and fit") {
  for (const Extents& extents : {Extents{.dp = 2}, Extents{.pp = 2}}) {
    on_ranks(2, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = scripted_net({filled("p", {1}, 1)}, {}, 2),
                                                     .extents = extents,
                                                     .optimizer = Sgd{.lr = 0},
                                                     .micro_batches = 3});
      const auto rows = [](int sequences) {
        return Rows::of(std::vector<std::vector<float>>(static_cast<std::size_t>(sequences), {1.0F}));
      };
      model->step(rows(3));
      CHECK(contains(message_of<ShapeError>([&] { model->step(rows(2 + world.rank())); }),
                     "same number of sequences"));
      CHECK(contains(message_of<ShapeError>([&] { model->evaluate(rows(1 + world.rank())); }),
                     "same number of sequences"));
      CHECK(contains(message_of<ShapeError>([&] { model->step(rows(4)); }), "call reserve"));
      CHECK(
          contains(message_of<ShapeError>([&] { model->step(rows(2).in_sequences_of(2)); }), "call reserve"));
      CHECK(model->step(rows(3)).loss == 1);
      CHECK(contains(message_of<ConfigError>([&] { model->reserve({3, 1, 1, 0}); }), "reserve once"));
    });
  }
}

TEST_CASE("what a layer writes stays where it is, whatever is sharded") {
  for (const Stage stage : every_stage) {
    on_ranks(4, [&](ThreadCommunicator world) {
      Parameter state = filled("state", {40}, 5), frozen = filled("frozen", {3}, 2);
      state.kind = ParameterKind::state;
      frozen.frozen = true;
      Script script;
      const auto model =
          make_trainer<float>(world, {.net = scripted_net({filled("p", {33}, 1), state, frozen}, {}, 2),
                                      .extents = {.dp = 2, .pp = 2},
                                      .optimizer = AdamW{},
                                      .stage = stage,
                                      .micro_batches = 3,
                                      .script = &script});
      const Rows rows = Rows::of(std::vector<std::vector<float>>(3, std::vector<float>(76)));
      model->step(rows);
      model->evaluate(rows);
      model->step(rows);
      CHECK(model->parameter("1.0.state") == std::vector<float>(40, 5 + 2 * 3));
      CHECK(model->parameter("1.0.frozen") == std::vector<float>(3, 2));
      CHECK(model->bytes() == model->planned(rows.batch().shape()).bytes);
      if (world.rank() < 2) CHECK(script.seen["state"] == std::vector<float>(40, 5 + 2 * 3 - 1));
    });
  }
}

TEST_CASE("parameters without a shape and with the same name are refused") {
  const auto message_of_net = [](const ScriptedNet& net) {
    std::string message;
    on_ranks(1, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = net});
      message = message_of<ConfigError>([&] { model->reserve({1, 1, 1, 0}); });
    });
    return message;
  };
  CHECK(contains(message_of_net(scripted_net({filled("a", {1}, 1)}, {filled("b", {}, 1)})),
                 "2.0.b has no shape"));
  CHECK(
      contains(message_of_net(scripted_net({filled("a", {1}, 1), filled("b", {1}, 1), filled("a", {0}, 1)})),
               "two parameters called 1.0.a"));
}

TEST_CASE("holders of a tie that are not declared alike are refused before memory is taken") {
  const auto message_with = [](auto change) {
    Parameter a = filled("a", {2}, 1), b = filled("b", {2}, 1);
    a.tie = b.tie = "E";
    change(b);
    std::string message;
    on_ranks(1, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = scripted_net({a}, {b})});
      message = message_of<ConfigError>([&] { model->reserve({1, 1, 4, 0}); });
    });
    return message;
  };
  CHECK(message_with([](Parameter&) {}).empty());
  for (const std::string& message : {message_with([](Parameter& b) {
                                       b.shape = {1, 2};
                                     }),
                                     message_with([](Parameter& b) { b.frozen = true; }),
                                     message_with([](Parameter& b) { b.decay = false; }),
                                     message_with([](Parameter& b) { b.kind = ParameterKind::state; }),
                                     message_with([](Parameter& b) { b.init = Initialiser::zeros(); })}) {
    CHECK(contains(message, "1.0.a"));
    CHECK(contains(message, "2.0.b"));
  }
}

}  // namespace
}  // namespace triax::test
