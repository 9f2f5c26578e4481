// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Parameters are gathered once for each visit that does not find them, one visit ahead.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>
#include <triax/engine/gatherer.hpp>

#include "engine/chunks.hpp"

using namespace triax;
using namespace triax::test;

namespace {

using World = Traced<ThreadCommunicator>;
using Chunks = HandmadeChunks<World>;

// Units 0 to 3; unit 1 has two chunks, unit 2 none.
const std::vector<Chunks::Spec> specs{{0, 0, 4}, {1, 1, 6}, {1, 1, 2, "tie"}, {3, 3, 8}};

float value_of(std::size_t chunk, std::int64_t element) {
  return static_cast<float>(100 * chunk) + static_cast<float>(element);
}

}  // namespace

TEST_CASE("each visit finds its unit's parameters; a unit still in a buffer is not gathered again") {
  struct Case {
    std::vector<int> visits;
    std::uint64_t gathers;  // of chunks
  };
  const Case cases[] = {
      {{0, 1, 2, 3}, 4},
      {{0, 1, 2, 3, 3, 2, 1, 0}, 4 + 2 + 1},  // 3 and 2 are still there
      {{0, 1, 1, 0, 0, 1, 1, 0}, 3},          // two units fit for ever
      {{3, 3, 3}, 1},
      {{0, 1, 3, 0, 1, 3}, 8},
      {{2, 2}, 0},
      {{}, 0},
  };
  for (const Case& given : cases) {
    run_threads(2, [&](ThreadCommunicator threads) {
      World world(std::move(threads));
      Chunks made(specs, world, {.state = true, .gradients = true, .parameters = true});
      Host host;
      Arena<Host> arena = roomy_arena(host);
      Gatherer<Host, Chunks::ChunkType, World> gatherer(made.chunks, arena, 8);
      for (const float step : {0.0F, 1000.0F}) {  // weights change from step to step
        for (std::size_t i = 0; i < made.chunks.size(); ++i) {
          const ElementRange slice = made.chunks[i].slice();
          for (std::int64_t k = 0; k < slice.size; ++k)
            made.chunks[i].values[k] = step + value_of(i, slice.first + k);
        }
        world.reset();
        gatherer.begin(given.visits);
        for (const int unit : given.visits) {
          gatherer.acquire();
          for (std::size_t i = 0; i < made.chunks.size(); ++i) {
            if (specs[i].first_unit != unit) continue;
            for (std::int64_t k = 0; k < specs[i].size; ++k)
              CHECK(made.binding(i).value[k] == step + value_of(i, k));
          }
        }
        CHECK(world.ledger().of(Operation::all_gather).messages == given.gathers);
        CHECK(Progress::of_this_thread().pending() == 0);
      }
    });
  }
}

TEST_CASE("the next visit's parameters travel while a unit runs") {
  run_threads(2, [](ThreadCommunicator threads) {
    World world(std::move(threads));
    Chunks made(specs, world, {.parameters = true});
    Host host;
    Arena<Host> arena = roomy_arena(host);
    Gatherer<Host, Chunks::ChunkType, World> gatherer(made.chunks, arena, 8);
    const std::vector<int> visits{0, 1, 3};
    gatherer.begin(visits);
    CHECK(world.ledger().of(Operation::all_gather).messages == 1);
    gatherer.acquire();  // 0 is there, 1 is on its way
    CHECK(world.ledger().of(Operation::all_gather).messages == 3);
    CHECK(Progress::of_this_thread().pending() == 2);
    gatherer.acquire();
    CHECK(Progress::of_this_thread().pending() == 1);
    gatherer.acquire();
    CHECK(Progress::of_this_thread().pending() == 0);
  });
}

TEST_CASE("where nothing is sharded, nothing is gathered or bound") {
  run_threads(2, [](ThreadCommunicator threads) {
    World world(std::move(threads));
    Chunks made(specs, world, {});
    Host host;
    Arena<Host> arena = roomy_arena(host);
    Gatherer<Host, Chunks::ChunkType, World> gatherer(made.chunks, arena, 0);
    CHECK(arena.used() == 0);
    const std::vector<int> visits{0, 1, 3};
    gatherer.begin(visits);
    for (std::size_t i = 0; i < visits.size(); ++i) gatherer.acquire();
    CHECK(made.binding(3).value == made.chunks[3].values);
    CHECK(world.ledger().total() == Traffic{});
  });
}
