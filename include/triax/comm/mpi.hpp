// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are processes: MpiCommunicator and mpi::Environment. Needs an MPI library; no other header of
// the library includes this one.

#pragma once

#include <triax/comm/mpi/communicator.hpp>
#include <triax/comm/mpi/environment.hpp>
