// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Rules that wait for values: the sentence that the compiler would give, as a ConfigError on every rank,
// before memory is taken or a communicator is made. (The compiler's are in tests/compile_fail.)

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/nn/input_values.hpp>
#include <triax/nn/linear.hpp>
#include <triax/nn/mean_squared_error.hpp>
#include <triax/nn/repeat.hpp>
#include <triax/optim/sgd.hpp>
#include <triax/parallel/parallel.hpp>
#include <triax/schedule/forward_only.hpp>
#include <triax/schedule/gpipe.hpp>

namespace triax::test {
namespace {

struct Net {
  std::tuple<InputValues, Repeat<Linear>> layers;
  MeanSquaredError loss{};
};
/// A model of one unit more than it has Linear layers.
Net net_of(int linears) { return {{InputValues{4}, Repeat{Linear{4, 4}, linears}}}; }

struct NotElementwise : Sgd {
  static constexpr bool elementwise = false;
};

/// Rank 1 runs both forwards before its first backward, for which rank 0 waits before its second forward.
struct Stubborn {
  static constexpr const char* name = "stubborn";
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int i = 0; i < micro_batches; ++i) {
      builder.forward(0, i);
      builder.backward(0, i);
    }
    for (int rank = 1; rank < ranks; ++rank) {
      for (int i = 0; i < micro_batches; ++i) builder.forward(rank, i);
      for (int i = 0; i < micro_batches; ++i) builder.backward(rank, i);
    }
  }
};

/// Counts how often it is split.
class Counted : public ThreadCommunicator {
 public:
  Counted(ThreadCommunicator inner, int& splits) : ThreadCommunicator(std::move(inner)), splits_(&splits) {}
  Counted split(int color, int key) {
    ++*splits_;
    return {ThreadCommunicator::split(color, key), *splits_};
  }

 private:
  int* splits_;
};

/// Constructs a model on every rank of a mesh of `extents` and expects the sentence on each.
template <class S, class Optimizer = Sgd>
void refuse(const char* sentence, const S& strategy, const Extents& extents, int linears = 3) {
  CAPTURE(sentence);
  std::vector<std::string> messages(static_cast<std::size_t>(extents.product()));
  run_threads(extents.product(), [&](ThreadCommunicator thread) {
    int splits = 0;
    Mesh mesh(Counted(thread, splits), extents);
    const int of_mesh = splits;
    try {
      const Parallel model(net_of(linears), strategy, mesh, Optimizer{});
    } catch (const ConfigError& error) {
      messages[static_cast<std::size_t>(thread.rank())] = error.what();
    }
    if (splits != of_mesh) messages[static_cast<std::size_t>(thread.rank())] = "made a communicator";
  });
  for (const std::string& message : messages) CHECK(message.starts_with(sentence));
}

TEST_CASE("an axis that is larger than 1 needs its policy") {
  refuse(TRIAX_SAY_NO_DATA_PARALLEL, Strategy<>{}, {.dp = 2});
  refuse(TRIAX_SAY_NO_SCHEDULE, Strategy<>{}, {.pp = 2});
  refuse(TRIAX_SAY_NO_TENSOR_PARALLEL, Strategy<>{}, {.tp = 2});
  refuse(TRIAX_SAY_NO_CONTEXT_PARALLEL, Strategy<>{}, {.cp = 2});
  refuse(TRIAX_SAY_NO_EXPERT_PARALLEL, Strategy<>{}, {.ep = 2});
}

TEST_CASE("an axis whose layers do not exist yet must be 1") {
  using Axes = Strategy<DataParallel<>, TensorParallel<>, ContextParallel<>, ExpertParallel<>>;
  refuse(TRIAX_SAY_NO_TENSOR_LAYER, Axes{}, {.dp = 2, .tp = 2});
  refuse(TRIAX_SAY_NO_CONTEXT_LAYER, Axes{}, {.cp = 2});
  refuse(TRIAX_SAY_NO_EXPERT_LAYER, Axes{}, {.ep = 3});
}

/// Every policy that has a value, in that form.
using Values = Strategy<DataParallel<>, Sharded<>, MicroBatches<>, PipelineStage<>, Activations<>, Clip<>,
                        MixedPrecision<fp16>>;

TEST_CASE("policies as values") {
  const auto with = [](Sharded<> sharded, int micro_batches = 1, AnySchedule schedule = OneFOneB{},
                       Store store = Store::keep) {
    return Values{{}, sharded, {micro_batches}, {schedule}, {store}, {}, {}};
  };
  refuse(TRIAX_SAY_FEW_UNITS, with({}), {.pp = 3}, 1);
  refuse(TRIAX_SAY_FEW_UNITS, with({}), {.dp = 2, .pp = 2}, 0);
  refuse(TRIAX_SAY_BAD_SCHEDULE, with({}, 2, Stubborn{}), {.pp = 2});
  refuse(TRIAX_SAY_ACCUMULATE, with({Stage::optimizer, Accumulate::sharded}), {.dp = 2});
  refuse(TRIAX_SAY_ACCUMULATE, with({Stage::none, Accumulate::sharded}), {});
  refuse(TRIAX_SAY_MICRO_BATCHES, with({}, 0), {});
  refuse(TRIAX_SAY_MICRO_BATCHES, with({}, -4), {});
  for (const Store store : {Store::recompute, Store::selective, Store::offload})
    refuse(TRIAX_SAY_NO_STORE, with({}, 1, GPipe{}, store), {});
  for (const Stage stage : {Stage::optimizer, Stage::gradients, Stage::parameters})
    refuse<Values, NotElementwise>(TRIAX_SAY_NOT_ELEMENTWISE, with({stage}), {.dp = 2});
}

TEST_CASE("schedules that the engine does not run") {
  AnySchedule interleaved = OneFOneB{}, reversed = OneFOneB{}, split = OneFOneB{};
  interleaved.virtual_stages = 2;
  reversed.placement = [](int rank, int, int ranks) { return ranks - 1 - rank; };
  split.passes = Passes::forward_backward_weight;
  for (const AnySchedule& schedule : {interleaved, reversed, split, AnySchedule(ForwardOnly{})})
    refuse(TRIAX_SAY_NO_SUCH_SCHEDULE, Values{{}, {}, {2}, {schedule}, {}, {}, {}}, {.pp = 2});
}

TEST_CASE("options that cannot work") {
  const auto with = [](Clip<> clip, LossScale scale) {
    return Values{{}, {}, {1}, {}, {}, clip, {scale, Rounding::nearest}};
  };
  refuse("triax: Clip needs a positive limit, but got 0", with({By::norm, 0}, {}), {});
  refuse("triax: Clip needs a positive limit, but got -1", with({By::value, -1}, {}), {});
  refuse("triax: Clip needs a positive limit, but got nan", with({By::norm, std::nanf("")}, {}), {});
  for (const LossScale& scale : {LossScale{.initial = 0}, LossScale{.initial = -2},
                                 LossScale{.initial = HUGE_VALF}, LossScale{.growth = 0.5F},
                                 LossScale{.backoff = 0}, LossScale{.backoff = 2}, LossScale{.interval = 0}})
    refuse("triax: LossScale needs", with({}, scale), {});
}

TEST_CASE("the sentence about a schedule goes on to say where") {
  std::string message;
  run_threads(2, [&](ThreadCommunicator world) {
    Mesh mesh(world, {.pp = 2});
    try {
      const Parallel model(net_of(3), Values{{}, {}, {2}, {Stubborn{}}, {}, {}, {}}, mesh, Sgd{});
    } catch (const ConfigError& error) {
      if (world.rank() == 0) message = error.what();
    }
  });
  CHECK(message.find("schedule 'stubborn' with 2 ranks and 2 micro-batches deadlocks") != std::string::npos);
}

// ---- What a type fixes is checked as a type, what a value holds is left to the run ----

using Fixed = Strategy<DataParallel<>, Sharded<Stage::optimizer>, MicroBatches<2>, PipelineStage<Stubborn>,
                       Activations<Store::offload>>;
template <class S, class O = Sgd, Extents E = Extents{.dp = 2, .pp = 2}>
using RulesOf = Rules<Net, S, Mesh<ThreadCommunicator, E>, O>;

static_assert(!RulesOf<Fixed, NotElementwise>::sharded_elementwise &&
              RulesOf<Values, NotElementwise>::sharded_elementwise);
static_assert(!RulesOf<Fixed>::schedule_verifies && RulesOf<Values>::schedule_verifies);
static_assert(!RulesOf<Fixed>::keeps_activations && RulesOf<Values>::keeps_activations);
static_assert(RulesOf<Fixed>::micro_batches == 2 && RulesOf<Values>::micro_batches == run_time_count);
static_assert(!RulesOf<Fixed>::legal && RulesOf<Values>::legal);
static_assert(RulesOf<Strategy<>, Sgd, run_time_extents>::legal, "extents that only the run knows");
static_assert(RulesOf<Fixed, Sgd, Extents{}>::schedule_verifies, "a pipeline of one stage does not deadlock");
static_assert(RulesOf<Strategy<Sharded<Stage::none>, DataParallel<>>, NotElementwise, Extents{}>::legal);

}  // namespace
}  // namespace triax::test
