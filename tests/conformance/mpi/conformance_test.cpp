// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include <doctest/doctest.h>

#include <triax/comm/mpi.hpp>

#include "conformance/behaviour.hpp"
#include "conformance/mpi/world.hpp"

using namespace triax;

TEST_CASE("MpiCommunicator conforms") {
  test::on_mpi_ranks([](MpiCommunicator& world) { test::conforms(world); });
}

TEST_CASE("MpiCommunicator behaves") {
  test::on_mpi_ranks([](MpiCommunicator& world) { test::behaves(world); });
}

TEST_CASE("messages and buffers are cut where MPI's counts end") {
  test::on_mpi_ranks([](MpiCommunicator& world) {
    MpiCommunicator cut = MpiCommunicator::duplicate(world.native());  // limits of its own
    cut.set_message_limit(7 * sizeof(float));
    cut.set_piece_limit(64 * sizeof(float));
    for (const std::size_t n : {0U, 1U, 20U, 333U}) {
      test::all_reduce_case<float, Sum, Order::rank>(cut, n);
      test::all_reduce_case<double, Sum, Order::backend>(cut, n);
      test::reduce_scatter_case<bf16, Sum>(cut, n, true);
      test::all_gather_case<std::uint8_t>(cut, n, true);
      test::broadcast_case<double>(cut, n);
      test::all_to_all_case<fp16>(cut, n);
      test::send_recv_case<std::int64_t>(cut, n);
    }
    test::adds_in_rank_order<float>(cut);
  });
}

TEST_CASE("O-30: neighbours send first, then receive, over MPI") {
  // 100 rounds of 64 MiB would take too long for every run: there are 2, and 100 of 1 MiB.
  for (const int ranks : {2, 3}) {
    test::on_first_mpi_ranks(ranks, [](MpiCommunicator& group) {
      test::exchanges_with_neighbours(group, (std::size_t{64} << 20) / sizeof(float), 2);
      test::exchanges_with_neighbours(group, (std::size_t{1} << 20) / sizeof(float), 100);
    });
  }
}

TEST_CASE("O-50: reductions over MPI have the documented order") {
  test::on_first_mpi_ranks(4, [](MpiCommunicator& group) { test::reduces_repeatably(group); });
}
