// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What Traced counts against what is handed to MPI, seen through MPI's profiling interface.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/mpi.hpp>
#include <triax/comm/traced.hpp>

#include "conformance/mpi/world.hpp"

namespace {

std::uint64_t bytes_sent = 0;

}  // namespace

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  bytes_sent += static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(count);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                          MPI_Request* request) {
  int bytes = 0, rank = 0;
  PMPI_Type_size(type, &bytes);
  PMPI_Comm_rank(comm, &rank);
  if (rank == root) bytes_sent += static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(count);
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

using namespace triax;

TEST_CASE("the traced volume is what leaves the rank") {
  test::on_mpi_ranks([](MpiCommunicator& plain) {
    Traced world{plain};
    const auto d = static_cast<std::size_t>(world.size()), r = static_cast<std::size_t>(world.rank());
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    const auto measure = [&](auto&& operation) {
      const std::uint64_t sent_before = bytes_sent, traced_before = world.ledger().total().bytes;
      operation();
      const std::uint64_t traced = world.ledger().total().bytes - traced_before;
      CHECK(bytes_sent - sent_before == traced);
      if (world.size() > 1) CHECK(world.ledger().total().messages > 0);
    };
    for (const std::size_t n : {std::size_t{1000}, std::size_t{100003}, std::size_t{1500007}}) {
      std::vector<float> x(n);
      measure([&] { world.all_reduce(std::span<float>(x)).wait(); });
      if (world.size() > 1) {
        measure([&] {
          auto sent = world.send(std::span<float>(x).first(n / 2), next);
          world.recv(std::span<float>(x).subspan(n / 2, n / 2), previous).wait();
          sent.wait();
        });
      }
      measure([&] { world.broadcast(std::span<float>(x), world.size() - 1).wait(); });
      const std::size_t m = n / d;
      std::vector<bf16> full(m * d), other(m * d);
      measure([&] {
        world.reduce_scatter(std::span<const bf16>(full), std::span<bf16>(full).subspan(r * m, m)).wait();
      });
      measure([&] {
        world.all_gather(std::span<const bf16>(full).subspan(r * m, m), std::span<bf16>(full)).wait();
      });
      measure([&] { world.all_to_all(std::span<const bf16>(full), std::span<bf16>(other)).wait(); });
    }
  });
}
