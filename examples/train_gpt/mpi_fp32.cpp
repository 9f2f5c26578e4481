// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <triax/comm/mpi.hpp>

#include "train_impl.hpp"

template void train_gpt::train<float>(triax::MpiCommunicator, const Options&, const Text&);
