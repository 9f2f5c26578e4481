// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// How test cases reach the ranks of their MPI job.

#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include <triax/comm/mpi.hpp>
#include <triax/comm/reason.hpp>

namespace triax::test {

/// Set by the main function.
inline std::optional<MpiCommunicator>& mpi_world() {
  static std::optional<MpiCommunicator> world;
  return world;
}

/// Calls `f(world)`. An exception ends the job: the other ranks, which may wait for this one, must not go on
/// alone.
template <class F>
void on_mpi_ranks(F&& f) {
  try {
    f(*mpi_world());
  } catch (...) {
    mpi::Environment::abort(reason_of(std::current_exception()));
  }
}

/// Calls `f(group)` on the first `ranks` ranks only, if there are so many.
template <class F>
void on_first_mpi_ranks(int ranks, F&& f) {
  on_mpi_ranks([&](MpiCommunicator& world) {
    if (world.size() < ranks) return;
    MpiCommunicator group = world.split(world.rank() < ranks ? 0 : 1, world.rank());
    if (world.rank() < ranks) f(group);
  });
}

}  // namespace triax::test
