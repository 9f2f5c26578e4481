// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Communication allocates only until every slot has been used once.

#include "support/allocations.hpp"

#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/self.hpp>
#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>

using namespace triax;

namespace {

/// Every operation, several of them at the same time, large and small.
template <class Comm>
struct Traffic {
  explicit Traffic(Comm& comm)
      : x(30000),
        full(16 * static_cast<std::size_t>(comm.size())),
        pieces(full.size()),
        other(full.size()),
        own(16),
        shared(16) {}

  void step(Comm& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    for (int k = 0; k < 3; ++k) {
      auto big = comm.all_reduce(std::span<float>(x));
      auto scattered = comm.reduce_scatter(std::span<const float>(full), std::span<float>(own), Max{});
      auto sent = comm.send(std::span<const float>(z), next);
      auto received = comm.recv(std::span<float>(y), previous);
      received.wait();
      scattered.wait();
      auto gathered = comm.all_gather(std::span<const float>(own), std::span<float>(full));
      auto exchanged = comm.all_to_all(std::span<const float>(pieces), std::span<float>(other));
      auto spread = comm.broadcast(std::span<float>(shared), 0);
      while (!exchanged.test()) continue;
      sent.wait();
      comm.barrier().wait();
    }  // the rest by destructors
  }

  std::vector<float> x, full, pieces, other, own, shared;
  std::vector<float> y = std::vector<float>(100), z = y;
};

template <class Comm>
std::size_t allocations_of_twenty_steps(Comm& comm) {
  Traffic<Comm> traffic(comm);
  for (int k = 0; k < 3; ++k) traffic.step(comm);
  comm.barrier().wait();
  test::AllocationCount count;
  for (int k = 0; k < 20; ++k) traffic.step(comm);
  comm.barrier().wait();
  return count.count();
}

}  // namespace

TEST_CASE("a single rank's operations allocate nothing in the long run") {
  SelfCommunicator self;
  CHECK(allocations_of_twenty_steps(self) == 0);
}

TEST_CASE("operations among threads allocate nothing in the long run") {
  for (const int ranks : {1, 2, 4}) {
    std::vector<std::size_t> found(static_cast<std::size_t>(ranks));
    run_threads(ranks, [&](ThreadCommunicator world) {
      found[static_cast<std::size_t>(world.rank())] = allocations_of_twenty_steps(world);
      world.barrier().wait();
    });
    for (const std::size_t n : found) CHECK(n == 0);
  }
  run_threads(2, [](ThreadCommunicator world) {
    Traced traced{world};
    const std::size_t found = allocations_of_twenty_steps(traced);
    world.barrier().wait();
    CHECK(found == 0);
  });
}
