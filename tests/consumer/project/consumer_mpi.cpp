// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <triax/comm/mpi.hpp>
#include <triax/triax.hpp>

int main(int argc, char** argv) {
  triax::mpi::Environment env(argc, argv);
  return env.world().size() == 1 ? 0 : 1;
}
