// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A rank of an MPI job that ends with an exception while the others wait for it. `check.py` runs it.

#include <cstdio>
#include <stdexcept>
#include <string_view>

#include <triax/comm/mpi.hpp>

namespace {

void work(triax::MpiCommunicator world) {
  world.barrier().wait();
  if (world.rank() == 1) throw std::runtime_error("the disk is full");
  world.barrier().wait();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "uncaught") {
    triax::mpi::Environment environment(argc, argv);
    work(environment.world());
  } else if (way == "run") {
    triax::mpi::run(argc, argv, work);
  } else if (way == "caught_outside") {
    try {
      triax::mpi::Environment environment(argc, argv);
      work(environment.world());
    } catch (const std::exception&) {
      std::puts("not reached: the job has ended");
    }
  }
  return 0;
}
