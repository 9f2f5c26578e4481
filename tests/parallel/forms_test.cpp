// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A policy as a type and as a value is one policy: the same bits, bytes and messages.

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/self.hpp>
#include <triax/nn/activation.hpp>
#include <triax/nn/input_values.hpp>
#include <triax/nn/linear.hpp>
#include <triax/nn/mean_squared_error.hpp>

#include "support/models/model_rank_of.hpp"
#include "support/models/probe.hpp"
#include "support/numbers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

struct Net {
  std::tuple<InputValues, Linear, Relu, Linear> layers;
  MeanSquaredError loss;
};

Net net() { return {{InputValues{6}, Linear{6, 10}, {}, Linear{10, 6}}, {}}; }

/// What a run shows of its strategy.
struct Outcome {
  std::vector<double> losses;
  std::vector<std::vector<float>> weights;
  std::vector<RankBytes> bytes;
  std::vector<int> slots;
  std::vector<std::vector<GroupTraffic>> traffic;
};

bool same(const Outcome& a, const Outcome& b) {
  const auto same_traffic = [](const auto& x, const auto& y) {
    if (x.size() != y.size()) return false;
    for (std::size_t rank = 0; rank < x.size(); ++rank)
      for (std::size_t i = 0; i < x[rank].size(); ++i)
        if (x[rank][i].name != y[rank][i].name || !(x[rank][i].ledger == y[rank][i].ledger)) return false;
    return true;
  };
  return a.losses == b.losses && a.weights == b.weights && a.bytes == b.bytes && a.slots == b.slots &&
         same_traffic(a.traffic, b.traffic);
}

template <class S>
Outcome train(const S& strategy, const Extents& extents = {.dp = 2, .pp = 2}) {
  const auto ranks = static_cast<std::size_t>(extents.product());
  Outcome outcome;
  outcome.bytes.resize(ranks);
  outcome.slots.resize(ranks);
  outcome.traffic.resize(ranks);
  run_threads(extents.product(), [&](ThreadCommunicator threads) {
    const auto rank = static_cast<std::size_t>(threads.rank());
    Mesh mesh(ThreadWorldRank(std::move(threads)), extents);
    Parallel model(net(), strategy, mesh, AdamW{.lr = 0.01});
    for (int step = 0; step < 3; ++step) {
      mesh.reset_traffic();
      const double loss =
          model.step(ValueBatch(step, 12, 2, 6).part(mesh.coordinate(Axis::dp), extents.dp)).loss();
      if (rank == 0) outcome.losses.push_back(loss);
    }
    outcome.bytes[rank] = model.measured().bytes;
    outcome.slots[rank] = static_cast<int>(model.activation_arenas().slots.size());
    outcome.traffic[rank] = mesh.traffic();
    for (const std::string& path : model.parameter_paths()) {
      std::vector<float> values = model.parameter(path);
      if (rank == 0) outcome.weights.push_back(std::move(values));
    }
  });
  return outcome;
}

using Values = Strategy<DataParallel<>, Sharded<>, MicroBatches<>, PipelineStage<>, Clip<>>;

Values values(Stage stage, Accumulate accumulate, int micro_batches, const AnySchedule& schedule, By clip) {
  return {DataParallel<>{}, Sharded<>{stage, accumulate}, MicroBatches<>{micro_batches},
          PipelineStage<>{schedule}, Clip<>{clip, 0.01F}};
}

constexpr Accumulate by_stage = Accumulate::by_stage;

}  // namespace

TEST_CASE("types and values: ZeRO-3, three micro-batches, GPipe, clipping by norm") {
  // The policies in another order, too.
  using Types = Strategy<Clip<By::norm>, PipelineStage<GPipe>, DataParallel<>, MicroBatches<3>,
                         Sharded<Stage::parameters>>;
  const Outcome types = train(Types{{.limit = 0.01F}, {}, {}, {}, {}});
  CHECK(same(types, train(values(Stage::parameters, by_stage, 3, GPipe{}, By::norm))));
  // Each value counts.
  CHECK(!same(types, train(values(Stage::gradients, by_stage, 3, GPipe{}, By::norm))));
  CHECK(!same(types, train(values(Stage::parameters, Accumulate::local, 3, GPipe{}, By::norm))));
  CHECK(!same(types, train(values(Stage::parameters, by_stage, 2, GPipe{}, By::norm))));
  CHECK(!same(types, train(values(Stage::parameters, by_stage, 3, OneFOneB{}, By::norm))));
  CHECK(!same(types, train(values(Stage::parameters, by_stage, 3, GPipe{}, By::none))));
}

TEST_CASE("types and values: ZeRO-2 accumulated locally, 1F1B, clipping by value, no micro-batches") {
  using Types = Strategy<DataParallel<>, Sharded<Stage::gradients>, PipelineStage<OneFOneB>, Clip<By::value>>;
  const Outcome types = train(Types{{}, {.accumulate = Accumulate::local}, {}, {.limit = 0.01F}});
  CHECK(same(types, train(values(Stage::gradients, Accumulate::local, 1, OneFOneB{}, By::value))));
  CHECK(!same(types, train(values(Stage::gradients, by_stage, 1, OneFOneB{}, By::value))));
  CHECK(!same(types, train(values(Stage::gradients, Accumulate::local, 1, OneFOneB{}, By::norm))));
}

TEST_CASE("a program of one rank needs no threads: the same bits on a SelfCommunicator") {
  const Values strategy = values(Stage::parameters, by_stage, 3, OneFOneB{}, By::norm);
  const Outcome thread = train(strategy, {});
  Mesh mesh(SelfCommunicator{}, {});
  Parallel<Net, Values, Mesh<SelfCommunicator>, AdamW> model(net(), strategy, mesh, AdamW{.lr = 0.01});
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step)
    losses.push_back(model.step(ValueBatch(step, 12, 2, 6).part(0, 1)).loss());
  CHECK(losses == thread.losses);
  CHECK(model.measured().bytes == thread.bytes[0]);
  std::vector<std::vector<float>> weights;
  for (const std::string& path : model.parameter_paths()) weights.push_back(model.parameter(path));
  CHECK(weights == thread.weights);
}
