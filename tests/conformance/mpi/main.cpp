// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The main function of tests that run on ranks over MPI: every rank runs all test cases in the same order.
// Rank 0 prints; the others print what fails. The run fails if it fails on any rank.

#include <cstdint>
#include <span>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <triax/comm/mpi.hpp>

#include "conformance/mpi/world.hpp"
#include "support/watchdog_listener.hpp"

int main(int argc, char** argv) {
  triax::mpi::Environment environment(argc, argv);
  triax::MpiCommunicator world = environment.world();
  triax::test::mpi_world() = world;

  doctest::Context context(argc, argv);
  if (world.rank() != 0) context.setOption("minimal", true);
  std::int32_t result = context.run();
  world.all_reduce(std::span<std::int32_t>(&result, 1), triax::Max{}).wait();
  triax::test::mpi_world().reset();
  return result;
}
