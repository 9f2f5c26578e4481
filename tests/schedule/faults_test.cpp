// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Every fault, produced by a small schedule that has just that fault.

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <triax/schedule/make_table.hpp>
#include <triax/schedule/one_f_one_b.hpp>

#include "schedule/schedules.hpp"

using namespace triax;
using namespace triax::test;

namespace {

struct Bad {
  static constexpr const char* name = "bad";
};

struct NamesNobody : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int) { builder.forward(ranks, 0); }
};
struct NamesNoMicroBatch : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int, int micro_batches) {
    builder.backward(0, micro_batches);
  }
};
struct WeightWithoutSplit : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int, int) { builder.backward_weight(0, 0); }
};
struct BackwardInEvaluation : Bad {
  static constexpr Passes passes = Passes::forward;
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    builder.forward(0, 0);
    builder.backward(0, 0);
  }
};
struct ForwardTwice : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches; ++i) {
        builder.forward(rank, 0);
        builder.backward(rank, i);
      }
  }
};
struct WithoutEnd : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    for (int i = 0; i < 1000; ++i) builder.forward(0, 0);
  }
};
struct OneTooMany : Bad {  // the table of rank 1 is full before the surplus comes
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    OneFOneB::generate(builder, ranks, micro_batches);
    builder.backward(1, micro_batches - 1);
  }
};
struct LosesTheLast : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches - 1; ++i) {
        builder.forward(rank, i);
        builder.backward(rank, i);
      }
  }
};
struct ForgetsWeights : Bad {
  static constexpr Passes passes = Passes::forward_backward_weight;
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    OneFOneB::generate(builder, ranks, micro_batches);
  }
};
struct FallingBackward : Bad {  // GPipe as it is often drawn
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < micro_batches; ++i) builder.forward(rank, i);
      for (int i = micro_batches - 1; i >= 0; --i) builder.backward(rank, i);
    }
  }
};
struct FallingForward : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = micro_batches - 1; i >= 0; --i) builder.forward(rank, i);
      for (int i = 0; i < micro_batches; ++i) builder.backward(rank, i);
    }
  }
};
struct FallingWeights : Bad {
  static constexpr Passes passes = Passes::forward_backward_weight;
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < micro_batches; ++i) builder.forward(rank, i);
      for (int i = 0; i < micro_batches; ++i) builder.backward(rank, i);
      for (int i = micro_batches - 1; i >= 0; --i) builder.backward_weight(rank, i);
    }
  }
};
struct BackwardFirst : Bad {
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches; ++i) {
        if (rank == ranks - 1) builder.backward(rank, i);
        builder.forward(rank, i);
        if (rank != ranks - 1) builder.backward(rank, i);
      }
  }
};
struct WeightFirst : Bad {
  static constexpr Passes passes = Passes::forward_backward_weight;
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches; ++i) {
        builder.forward(rank, i);
        builder.backward_weight(rank, i);
        builder.backward(rank, i);
      }
  }
};
struct TurnsTooEarly : TurningForTest {  // on one rank: reads what virtual stage 0 has not produced
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    builder.forward(0, 0, 1);
    builder.forward(0, 0, 0);
    builder.backward(0, 0, 1);
    builder.backward(0, 0, 0);
  }
};
struct ReturnsTooEarly : TurningForTest {  // as above, for the gradient
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    builder.forward(0, 0, 0);
    builder.forward(0, 0, 1);
    builder.backward(0, 0, 0);
    builder.backward(0, 0, 1);
  }
};
struct CrossedStages : Bad {  // two virtual stages share the channel from rank 0 to rank 1
  static constexpr int virtual_stages = 2;
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    builder.forward(0, 0, 0);
    builder.forward(0, 1, 0);
    builder.forward(0, 0, 1);
    builder.forward(0, 1, 1);
    builder.forward(1, 0, 0);
    builder.forward(1, 0, 1);  // rank 0 sends its virtual stage 0 of micro-batch 1 before
    builder.forward(1, 1, 0);
    builder.forward(1, 1, 1);
    for (int rank = 0; rank < 2; ++rank)
      for (int i = 0; i < 2; ++i) {
        builder.backward(rank, i, 1);
        builder.backward(rank, i, 0);
      }
  }
};
struct SwappedStages : Bad {  // as above, within one micro-batch
  static constexpr int virtual_stages = 2;
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    for (int stage : {0, 1}) builder.forward(0, 0, stage);
    for (int stage : {1, 0}) builder.forward(1, 0, stage);
    for (int rank : {0, 1})
      for (int stage : {1, 0}) builder.backward(rank, 0, stage);
  }
};
struct WaitsForItself : Bad {  // rank 0 wants a gradient before it sends the activation that leads to it
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < micro_batches; ++i) {
        if (rank == 0) builder.backward(rank, i);
        builder.forward(rank, i);
        if (rank != 0) builder.backward(rank, i);
      }
  }
};
// Rank 1 wants to send its third result before it goes on; rank 0 takes none before it has sent all its own
// messages. With two of rank 1's under way, one in its hands and two in the channel to it, that works for
// five and not for six.
struct StageByStage : Bad {
  static constexpr int virtual_stages = 2;
  static constexpr void generate(ScheduleBuilder& builder, int ranks, int micro_batches) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int stage = 0; stage < virtual_stages; ++stage)
        for (int i = 0; i < micro_batches; ++i) builder.forward(rank, i, stage);
      for (int stage = virtual_stages - 1; stage >= 0; --stage)
        for (int i = 0; i < micro_batches; ++i) builder.backward(rank, i, stage);
    }
  }
};
struct SharesAPosition : OneFOneB {
  static constexpr int virtual_stages = 2;
  static constexpr int placement(int rank, int, int) { return rank; }
};
struct LeavesTheModel : OneFOneB {
  static constexpr int placement(int rank, int, int) { return rank + 1; }
};

template <Schedule S, int Ranks, int MicroBatches>
constexpr Fault fault_of = fixed_table<S, Ranks, MicroBatches>.fault;

static_assert(fault_of<InterleavedForTest<2>, 4, 6> == Fault::extents);
static_assert(fault_of<SharesAPosition, 2, 2> == Fault::placement);
static_assert(fault_of<LeavesTheModel, 2, 2> == Fault::placement);
static_assert(fault_of<NamesNobody, 2, 2> == Fault::out_of_range);
static_assert(fault_of<NamesNoMicroBatch, 2, 2> == Fault::out_of_range);
static_assert(fault_of<WeightWithoutSplit, 1, 1> == Fault::unexpected_work);
static_assert(fault_of<BackwardInEvaluation, 1, 1> == Fault::unexpected_work);
static_assert(fault_of<ForwardTwice, 1, 2> == Fault::repeated_work);
static_assert(fault_of<OneTooMany, 3, 2> == Fault::repeated_work);
static_assert(fault_of<WithoutEnd, 1, 2> == Fault::repeated_work);
static_assert(fault_of<LosesTheLast, 2, 4> == Fault::missing_work);
static_assert(fault_of<ForgetsWeights, 2, 4> == Fault::missing_work);
static_assert(fault_of<FallingBackward, 2, 4> == Fault::accumulation_order);
static_assert(fault_of<FallingForward, 2, 4> == Fault::accumulation_order);
static_assert(fault_of<FallingWeights, 2, 4> == Fault::accumulation_order);
static_assert(fault_of<BackwardFirst, 2, 2> == Fault::dependency);
static_assert(fault_of<WeightFirst, 1, 1> == Fault::dependency);
static_assert(fault_of<TurnsTooEarly, 1, 1> == Fault::dependency);
static_assert(fault_of<ReturnsTooEarly, 1, 1> == Fault::dependency);
static_assert(fault_of<CrossedStages, 2, 2> == Fault::message_order);
static_assert(fault_of<SwappedStages, 2, 1> == Fault::message_order);
static_assert(fault_of<WaitsForItself, 2, 2> == Fault::deadlock);
static_assert(fault_of<StageByStage, 2, 5> == Fault::none);
static_assert(fault_of<StageByStage, 2, 6> == Fault::deadlock);

}  // namespace

TEST_CASE("numbers that are not positive or do not fit an action are refused") {
  for (const auto& [ranks, micro_batches] : {std::pair{0, 1}, {1, 0}, {-1, 4}, {2, 65536}, {40000, 1}})
    CHECK(generate_table(OneFOneB{}, ranks, micro_batches).fault() == Fault::extents);
  CHECK(generate_table(OneFOneB{}, 1, 65535).fault() == Fault::none);
}

TEST_CASE("the message names schedule, extents, fault and the first action at fault") {
  const auto message = [](const AnySchedule& schedule, int ranks, int micro_batches) -> std::string {
    try {
      make_table(schedule, ranks, micro_batches);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message(StageByStage{}, 2, 6) ==
        "schedule 'bad' with 2 ranks and 6 micro-batches deadlocks: ranks wait for each other with at most "
        "two messages under way; first on rank 0, action 11: send_activation of micro-batch 5, virtual stage "
        "0");
  CHECK(message(LosesTheLast{}, 2, 4) ==
        "schedule 'bad' with 2 ranks and 4 micro-batches leaves work of a micro-batch out; first on rank 0");
  CHECK(message(InterleavedForTest<2>{}, 4, 6) ==
        "schedule 'interleaved for a test' with 4 ranks and 6 micro-batches does not exist for these numbers "
        "of ranks "
        "and micro-batches");
  CHECK(message(OneFOneB{}, 2, 6) == "");
}

TEST_CASE("the first fault of a table stays") {
  ScheduleTable table = generate_table(NamesNobody{}, 2, 2);
  table.record({Fault::deadlock});
  CHECK(verify(table) == table.verdict());
  CHECK(table.fault() == Fault::out_of_range);
}

TEST_CASE("every fault has a sentence of its own") {
  for (int a = 0; a <= static_cast<int>(Fault::deadlock); ++a)
    for (int b = 0; b < a; ++b)
      CHECK(std::string(sentence(static_cast<Fault>(a))) != sentence(static_cast<Fault>(b)));
}
