// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Gradients are summed over ranks and micro-batches, whichever buffers they pass through. All numbers are
// whole, so sums are exact.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>
#include <triax/engine/reducer.hpp>

#include "engine/chunks.hpp"

using namespace triax;
using namespace triax::test;

namespace {

using World = Traced<ThreadCommunicator>;
using Chunks = HandmadeChunks<World>;
using ReducerType = Reducer<Order::rank, Host, Chunks::ChunkType, World>;

constexpr int ranks = 3;
constexpr int units = 4;
constexpr int micro_batches = 4;

float contribution(std::size_t chunk, std::int64_t element, int rank, int micro_batch) {
  return static_cast<float>((chunk + 1) * 1000) + static_cast<float>(element) +
         static_cast<float>(10 * rank) + static_cast<float>(100 * micro_batch);
}
float total(std::size_t chunk, std::int64_t element) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (int m = 0; m < micro_batches; ++m) sum += contribution(chunk, element, rank, m);
  return sum;
}

/// Chunks of several units, one inside another, two that begin together, and one that is not trained.
const std::vector<Chunks::Spec> nested{{0, 3, 9}, {1, 1, 3, "a"}, {2, 2, 6, "b"},
                                       {2, 3, 3}, {0, 0, 3, "a"}, {1, 2, 3, "", false}};
const std::vector<Chunks::Spec> single{{0, 3, 12}};
const std::vector<Chunks::Spec> separate{{0, 0, 3}, {1, 1, 6}, {2, 2, 3}, {3, 3, 3}};

/// As many as are filled at the same time, but two at least.
int buffers_for(const std::vector<Chunks::Spec>& specs) {
  int most = 2;
  for (int unit = 0; unit < units; ++unit) {
    int filled = 0;
    for (const Chunks::Spec& spec : specs)
      filled += spec.trained && spec.first_unit <= unit && unit <= spec.last_unit;
    most = filled > most ? filled : most;
  }
  return most;
}

/// A step's backward as an engine runs it: each chunk is written in every unit that it reaches.
void run_step(ReducerType& reducer, Chunks& made, int rank) {
  reducer.begin_step();
  for (int m = 0; m < micro_batches; ++m) {
    for (int unit = units; unit-- > 0;) {
      reducer.begin_unit(unit);
      for (std::size_t i = 0; i < made.chunks.size(); ++i) {
        const ChunkShape& shape = *made.chunks[i].shape;
        if (!shape.trained || unit < shape.first_unit || unit > shape.last_unit) continue;
        // Element k belongs to the unit k modulo the chunk's units.
        const int width = shape.last_unit - shape.first_unit + 1;
        for (std::int64_t k = 0; k < shape.size; ++k)
          if (k % width == unit - shape.first_unit)
            made.binding(i).gradient[k] += contribution(i, k, rank, m);
      }
      reducer.end_unit(unit, m + 1 == micro_batches);
    }
  }
  reducer.drain();
}

void check_sums(const std::vector<Chunks::Spec>& specs, ShardingFlags flags,
                std::uint64_t expected_messages) {
  run_threads(ranks, [&](ThreadCommunicator threads) {
    const int rank = threads.rank();
    World world(std::move(threads));
    Chunks made(specs, world, flags);
    Host host;
    Arena<Host> arena = roomy_arena(host);
    ReducerType reducer(host, made.chunks, arena, flags.gradients ? buffers_for(specs) : 0, 12);
    for (int step = 0; step < 2; ++step) {  // the second begins with what the first has left
      world.reset();
      run_step(reducer, made, rank);
      CHECK(Progress::of_this_thread().pending() == 0);
      CHECK(world.ledger().total().messages == expected_messages);
      for (std::size_t i = 0; i < made.chunks.size(); ++i) {
        const auto& chunk = made.chunks[i];
        if (!chunk.shape->trained) continue;
        const ElementRange updated = chunk.updated();
        CAPTURE(i);
        for (std::int64_t k = updated.first; k < updated.first + updated.size; ++k)
          CHECK(*chunk.reduced_gradient(k) == total(i, k));
      }
    }
  });
}

}  // namespace

TEST_CASE("local gradients are reduced once, whole or to the owner's slice") {
  for (const auto* specs : {&nested, &single, &separate}) {
    const std::uint64_t trained = specs == &nested ? 5 : specs->size();
    check_sums(*specs, {}, trained);
    check_sums(*specs, {.state = true}, trained);
    check_sums(*specs, {.state = true, .gradients = false, .parameters = true}, trained);
  }
}

TEST_CASE("sharded gradients are reduced in every micro-batch, however chunks overlap") {
  for (const auto* specs : {&nested, &single, &separate}) {
    const std::uint64_t trained = specs == &nested ? 5 : specs->size();
    check_sums(*specs, {.state = true, .gradients = true}, micro_batches * trained);
  }
}

TEST_CASE("the additions of micro-batches to a slice keep their order") {
  // Added in another order, the small parts are lost beside 2^24.
  const float parts[micro_batches] = {0x1p24F, -0x1p24F, 1, 0x1p-20F};
  run_threads(2, [&](ThreadCommunicator threads) {
    World world(std::move(threads));
    Chunks made({{0, 0, 2}}, world, {.state = true, .gradients = true});
    Host host;
    Arena<Host> arena = roomy_arena(host);
    ReducerType reducer(host, made.chunks, arena, 2, 2);
    reducer.begin_step();
    for (int m = 0; m < micro_batches; ++m) {
      reducer.begin_unit(0);
      for (int k = 0; k < 2; ++k) made.binding(0).gradient[k] += parts[m] / 2;
      reducer.end_unit(0, m + 1 == micro_batches);
    }
    reducer.drain();
    CHECK(made.chunks[0].owned[0] == 1 + 0x1p-20F);
  });
}

TEST_CASE("reductions are launched while backward goes on, in the order in which they are ready") {
  run_threads(2, [](ThreadCommunicator threads) {
    World world(std::move(threads));
    Chunks made(std::vector<Chunks::Spec>{{0, 1, 4}, {2, 3, 4}}, world, {});
    Host host;
    Arena<Host> arena = roomy_arena(host);
    ReducerType reducer(host, made.chunks, arena, 0, 0);
    CHECK(arena.used() == 0);
    reducer.begin_step();
    std::vector<std::uint64_t> launched;
    for (int unit = units; unit-- > 0;) {
      reducer.begin_unit(unit);
      reducer.end_unit(unit, true);
      launched.push_back(world.ledger().of(Operation::all_reduce).messages);
    }
    CHECK(launched == std::vector<std::uint64_t>{0, 1, 1, 2});
    reducer.drain();
  });
}
