// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Gradients of tied parameters are added in model order, over pipeline stages too.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>
#include <triax/engine/ties.hpp>

#include "engine/chunks.hpp"

using namespace triax;
using namespace triax::test;

namespace {

using World = Traced<ThreadCommunicator>;
using Chunks = HandmadeChunks<World>;
using TiesType = Ties<Host, Chunks::ChunkType, World>;

struct Expected {
  std::uint64_t messages;  // sent by this stage
  std::size_t bytes;       // of buffers
};

/// Adds the gradients of `specs` on stages cut at `bounds`, where chunk i has the gradient start[i]
/// everywhere, and checks that all holders of a tie end with `sums[i]`.
void check(const std::vector<Chunks::Spec>& specs, const std::vector<int>& bounds,
           const std::vector<float>& start, const std::vector<float>& sums,
           const std::vector<Expected>& expected) {
  run_threads(static_cast<int>(bounds.size()) - 1, [&](ThreadCommunicator threads) {
    const int stage = threads.rank();
    World pipeline(std::move(threads));
    ThreadCommunicator lonely = pipeline.inner().split(stage, 0);
    World group(std::move(lonely));  // no data parallelism
    Chunks made(specs, group, {}, bounds, stage);
    Host host;
    Arena<Host> arena = roomy_arena(host);
    TiesType ties(host, made.layout, made.chunks, pipeline, stage, arena);
    CHECK(arena.used() == expected[static_cast<std::size_t>(stage)].bytes);
    for (int step = 0; step < 2; ++step) {
      pipeline.reset();
      for (auto& chunk : made.chunks)
        for (std::int64_t k = 0; chunk.gradient && k < chunk.size(); ++k)
          chunk.gradient[k] = start[static_cast<std::size_t>(chunk.bound[0].parameter)];
      ties.add_gradients();
      CHECK(Progress::of_this_thread().pending() == 0);
      CHECK(pipeline.ledger().total().messages == expected[static_cast<std::size_t>(stage)].messages);
      for (const auto& chunk : made.chunks)
        for (std::int64_t k = 0; chunk.gradient && k < chunk.size(); ++k)
          CHECK(chunk.gradient[k] == sums[static_cast<std::size_t>(chunk.bound[0].parameter)]);
    }
  });
}

constexpr std::size_t buffer = 64;  // a few floats, up to the alignment

}  // namespace

TEST_CASE("holders on one rank are added and all get the sum") {
  check({{0, 0, 4, "a"}, {1, 1, 4, "b"}, {1, 1, 4, "a"}, {2, 2, 4}, {3, 3, 4, "a"}}, {0, 4},
        {1, 10, 2, 100, 4}, {7, 10, 7, 100, 7}, {{0, 0}});
}

TEST_CASE("three holders on three stages") {
  check({{0, 0, 4, "a"}, {1, 1, 4, "a"}, {2, 2, 4, "a"}}, {0, 1, 2, 3}, {1, 2, 4}, {7, 7, 7},
        {{2, 2 * buffer}, {2, 2 * buffer}, {2, 2 * buffer}});
}

TEST_CASE("several holders on each of two stages are sent once each; a third stage has none") {
  check({{0, 0, 4, "a"}, {1, 1, 4, "a"}, {2, 2, 4, "a"}, {3, 3, 4, "a"}, {4, 4, 4}}, {0, 2, 4, 5},
        {1, 2, 4, 8, 16}, {15, 15, 15, 15, 16}, {{2, 2 * buffer}, {2, 2 * buffer}, {0, 0}});
}

TEST_CASE("two ties between the same stages, and one that is frozen") {
  check({{0, 0, 4, "a"},
         {0, 0, 4, "b"},
         {0, 0, 4, "c", false},
         {1, 1, 4, "b"},
         {1, 1, 4, "a"},
         {1, 1, 4, "c", false}},
        {0, 1, 2}, {1, 2, 0, 4, 8, 0}, {9, 6, 0, 6, 9, 0}, {{2, 2 * buffer}, {2, 2 * buffer}});
}

TEST_CASE("the additions are in model order on every stage") {
  // ((2^24 + 1) - 2^24) + 1 = 1, while any sum that adds the ones first is 2.
  check({{0, 0, 4, "a"}, {1, 1, 4, "a"}, {2, 2, 4, "a"}, {3, 3, 4, "a"}}, {0, 1, 2, 3, 4},
        {0x1p24F, 1, -0x1p24F, 1}, {1, 1, 1, 1},
        {{3, 3 * buffer}, {3, 3 * buffer}, {3, 3 * buffer}, {3, 3 * buffer}});
}

TEST_CASE("of sharded state, the owned slices alone are exchanged") {
  // Two stages of two ranks: rank 0 of each group owns elements 0 and 1, rank 1 the others.
  run_threads(4, [](ThreadCommunicator threads) {
    const int stage = threads.rank() / 2, replica = threads.rank() % 2;
    World pipeline(threads.split(replica, threads.rank()));
    World group(threads.split(stage, threads.rank()));
    for (const bool gradients : {false, true}) {
      Chunks made({{0, 0, 4, "a"}, {1, 1, 4, "a"}}, group, {.state = true, .gradients = gradients}, {0, 1, 2},
                  stage);
      Host host;
      Arena<Host> arena = roomy_arena(host);
      TiesType ties(host, made.layout, made.chunks, pipeline, stage, arena);
      auto& chunk = made.chunks[0];
      const ElementRange slice = chunk.slice();
      for (std::int64_t k = slice.first; k < slice.first + slice.size; ++k)
        *chunk.reduced_gradient(k) = static_cast<float>(stage == 0 ? k : 10 * k);
      pipeline.reset();
      ties.add_gradients();
      for (std::int64_t k = slice.first; k < slice.first + slice.size; ++k)
        CHECK(*chunk.reduced_gradient(k) == static_cast<float>(11 * k));
      CHECK(pipeline.ledger().total() == Traffic{1, 2 * sizeof(float)});
    }
  });
}
