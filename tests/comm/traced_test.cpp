// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/meter_communicator.hpp>
#include <triax/comm/self.hpp>
#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>

using namespace triax;

static_assert(GradientCommunicator<Traced<SelfCommunicator>> &&
              ShardingCommunicator<Traced<SelfCommunicator>> &&
              PipelineCommunicator<Traced<SelfCommunicator>> && WorldCommunicator<Traced<SelfCommunicator>>);
// A decorator has what the decorated has, no more.
static_assert(!WorldCommunicator<Traced<MeterCommunicator>> &&
              GradientCommunicator<Traced<MeterCommunicator>>);

TEST_CASE("the volume of each operation, by hand") {
  run_threads(4, [](ThreadCommunicator plain) {
    Traced world{plain};
    const int r = world.rank();
    std::vector<float> ten(10), received(10), eight(8), other(8);
    std::vector<bf16> block(3), blocks(12);

    world.all_reduce(std::span<float>(ten)).wait();
    // Blocks of 3, 3, 2, 2 elements: 10 - 3 + 3 * 3 = 16 and 10 - 2 + 3 * 2 = 14.
    CHECK(world.ledger().of(Operation::all_reduce) == Traffic{1, r < 2 ? 64U : 56U});

    world.reduce_scatter(std::span<const bf16>(blocks), std::span<bf16>(block)).wait();
    world.all_gather(std::span<const bf16>(block), std::span<bf16>(blocks)).wait();
    world.all_gather(std::span<const bf16>(block), std::span<bf16>(blocks)).wait();
    CHECK(world.ledger().of(Operation::reduce_scatter) == Traffic{1, 18});
    CHECK(world.ledger().of(Operation::all_gather) == Traffic{2, 36});

    world.all_to_all(std::span<const float>(eight), std::span<float>(other)).wait();
    CHECK(world.ledger().of(Operation::all_to_all) == Traffic{1, 24});

    world.broadcast(std::span<float>(ten), 2).wait();
    CHECK(world.ledger().of(Operation::broadcast) == (r == 2 ? Traffic{1, 40} : Traffic{}));

    auto sent = world.send(std::span<const float>(ten), (r + 1) % 4);
    world.recv(std::span<float>(received), (r + 3) % 4).wait();
    sent.wait();
    CHECK(world.ledger().of(Operation::send) == Traffic{1, 40});

    world.barrier().wait();
    world.all_reduce(std::span<float>()).wait();
    CHECK(world.ledger().of(Operation::barrier) == Traffic{1, 0});
    CHECK(world.ledger().of(Operation::all_reduce).messages == 2);

    Ledger sum = world.ledger();
    CHECK(sum.total().messages == 8U + (r == 2 ? 1U : 0U));
    Traced pair = world.split(r / 2, 0), alone = world.split(r, 0), copy = pair;
    copy.all_reduce(std::span<float>(ten)).wait();
    alone.all_reduce(std::span<float>(ten)).wait();
    CHECK(pair.ledger().total() == Traffic{1, 40});  // shared with its copy
    CHECK(alone.ledger().total() == Traffic{});
    CHECK(world.ledger() == sum);  // a group has a ledger of its own, and splitting counts nothing
    world.reset();
    CHECK(world.ledger().total() == Traffic{});
  });
}

TEST_CASE("a metered communicator counts the same volumes, and touches nothing") {
  for (const int ranks : {1, 2, 3, 8}) {
    run_threads(ranks, [](ThreadCommunicator plain) {
      Traced real{plain};
      MeterCommunicator meter(real.rank(), real.size());
      const auto d = static_cast<std::size_t>(real.size());
      for (const std::size_t n : {0U, 1U, 7U, 24U, 1001U}) {
        std::vector<double> x(n), full(n * d), other(n * d);
        const auto imagined = [](std::size_t size) {
          return std::span<double>(reinterpret_cast<double*>(std::uintptr_t{1} << 62), size);
        };
        real.all_reduce(std::span<double>(x)).wait();
        meter.all_reduce(imagined(n)).wait();
        real.reduce_scatter(std::span<double>(full), std::span<double>(x)).wait();
        meter.reduce_scatter(imagined(n * d), imagined(n)).wait();
        real.all_gather(std::span<double>(x), std::span<double>(full)).wait();
        meter.all_gather(imagined(n), imagined(n * d)).wait();
        real.all_to_all(std::span<double>(full), std::span<double>(other)).wait();
        meter.all_to_all(imagined(n * d), imagined(n * d)).wait();
        real.broadcast(std::span<double>(x), 0).wait();
        meter.broadcast(imagined(n), 0).wait();
        real.barrier().wait();
        meter.barrier().wait();
        CHECK(meter.ledger() == real.ledger());
      }
    });
  }
}
