// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <triax/comm/threads.hpp>

#include "train_impl.hpp"

template train_gpt::GptPlan train_gpt::make_plan<float>(const Options&);
template void train_gpt::train<float>(triax::ThreadCommunicator, const Options&, const Text&);
