// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What all ranks agree upon: norm, finiteness, losses, who has a gradient, and how many tokens count.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/engine/agreement.hpp>
#include <triax/engine/token_count.hpp>

#include "engine/chunks.hpp"

using namespace triax;
using namespace triax::test;

namespace {

using World = ThreadCommunicator;
using Chunks = HandmadeChunks<World>;
using AgreementType = Agreement<Host, Chunks::ChunkType, World>;

/// Two stages of two replicas; "a" is held on both stages. The third chunk is frozen, and padding follows the
/// fourth's parameter.
const std::vector<Chunks::Spec> specs{
    {0, 0, 4, "a"}, {0, 0, 4}, {1, 1, 4, "", false}, {1, 1, 8, "", true, 6}, {1, 1, 4, "a"}};
const std::vector<int> bounds{0, 1, 2};

/// One rank of the four, with what its agreement needs.
struct Rank {
  int rank;
  World world;
  World group;
  Chunks made;
  Host host{};
  Arena<Host> arena;
  AgreementType agreement;
  StepState state{};

  Rank(World w, ShardingFlags flags)
      : rank(w.rank()),
        world(w),
        group(w.split(w.rank() / 2, w.rank())),
        made(specs, group, flags, bounds, w.rank() / 2),
        arena(roomy_arena(host)),
        agreement(host, made.layout, made.chunks, world, arena) {
    agreement.begin_step();
    for (auto& chunk : made.chunks) {
      if (!chunk.shape->trained) continue;
      const ElementRange held = chunk.sharded.gradients ? chunk.slice() : ElementRange{0, chunk.size()};
      for (std::int64_t k = held.first; k < held.first + held.size; ++k)
        *chunk.reduced_gradient(k) = static_cast<float>(chunk.bound[0].parameter + 1);
      if (chunk.bound[0].parameter != 3) continue;
      // Of the parameter's 8 elements in the chunk 6 are used; the others must not matter.
      for (std::int64_t k = 6; k < 8; ++k)
        if (k >= held.first && k < held.first + held.size) *chunk.reduced_gradient(k) = INFINITY;
    }
  }
};

void on_four(ShardingFlags flags, void (*f)(Rank&)) {
  run_threads(4, [&](World world) {
    Rank rank(std::move(world), flags);
    f(rank);
  });
}

}  // namespace

TEST_CASE("the norm counts every element once, ties too, without the loss scale") {
  for (const ShardingFlags flags : {ShardingFlags{}, ShardingFlags{.state = true},
                                    ShardingFlags{.state = true, .gradients = true, .parameters = true}}) {
    on_four(flags, [](Rank& rank) {
      rank.state.loss_scale = 8;
      rank.agreement.agree(&rank.state, true);
      CHECK(rank.state.norm == std::sqrt(4 * 1.0 + 4 * 4.0 + 6 * 16.0) / 8);
      CHECK(rank.state.finite == 1);
    });
  }
}

TEST_CASE("one element that is not finite on one rank stops all") {
  for (const float bad : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN()}) {
    for (const int culprit : {0, 1, 2, 3}) {
      run_threads(4, [&](World world) {
        Rank rank(std::move(world), {.state = true, .gradients = true});
        auto& chunk = rank.made.chunks[1];  // trained on both stages
        if (rank.rank == culprit) *chunk.reduced_gradient(chunk.slice().first) = bad;
        rank.agreement.agree(&rank.state, true);
        CHECK(rank.state.finite == 0);
        if (rank.rank == culprit) *chunk.reduced_gradient(chunk.slice().first) = 0;
        rank.agreement.agree(&rank.state, true);
        CHECK(rank.state.finite == 1);
      });
    }
  }
}

TEST_CASE("losses are added over the ranks that count them") {
  on_four({}, [](Rank& rank) {
    rank.state.loss = rank.rank >= 2 ? 1.5 * rank.rank : 0;  // the last stage's
    rank.state.added[2] = 1;
    rank.agreement.agree(&rank.state, rank.rank != 3);
    CHECK(rank.state.loss == 3);
    CHECK(rank.state.added[2] == 3);
    CHECK(rank.state.added[0] == 0);
  });
}

TEST_CASE("a parameter has a gradient if any rank asked; holders of a tie share it") {
  on_four({}, [](Rank& rank) {
    if (rank.rank == 1) *rank.agreement.asked(1) = 1;
    if (rank.rank >= 2) *rank.agreement.asked(4) = 1;  // the second holder of "a"
    rank.agreement.agree(&rank.state, true);
    CHECK(*rank.agreement.flag(0) > 0);
    CHECK(*rank.agreement.flag(1) > 0);
    CHECK(*rank.agreement.flag(2) == 0);
    CHECK(*rank.agreement.flag(3) == 0);
    CHECK(*rank.agreement.flag(4) > 0);
    CHECK_THROWS_WITH_AS(
        rank.agreement.check_unused(rank.world),
        "some parameters have a gradient on a part of their replicas only; there is none for 0.1.w on "
        "rank 0; use Unused::zero if that is meant",
        MismatchError);
    rank.agreement.begin_step();
    rank.agreement.agree(&rank.state, true);
    CHECK(*rank.agreement.flag(1) == 0);
    CHECK_NOTHROW(rank.agreement.check_unused(rank.world));
  });
}

TEST_CASE("tokens are counted once for each part of the data") {
  on_four({}, [](Rank& rank) {
    // The ranks of the second stage hold copies of the first's data.
    const TokenCount<Host, World> count(rank.host, rank.world, rank.rank < 2, rank.arena);
    rank.state.loss_scale = 6;
    rank.state.loss = 5;
    rank.state.clip = 0.5F;
    count.agree(3, 7, &rank.state, [&](double* sum) { *sum += rank.rank % 2 == 0 ? 1.5 : 2.5; });
    CHECK(rank.state.tokens == 4);
    CHECK(rank.state.seed == 1.5F);
    CHECK(rank.state.loss == 0);
    CHECK(rank.state.clip == 1);
    count.agree(3, 7, &rank.state, [](double*) {});
    CHECK(rank.state.tokens == 0);
    CHECK(rank.state.seed == 0);
    for (const bool sequences : {false, true}) {
      const bool odd = rank.rank == 1;
      CHECK_THROWS_AS(
          count.agree(odd && sequences ? 4 : 3, odd && !sequences ? 8 : 7, &rank.state, [](double*) {}),
          ShapeError);
    }
  });
}
