// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The small GPT in fp16 on threads.

#include "support/models/gpt_net.hpp"

template std::unique_ptr<triax::test::ModelRank> triax::test::make_gpt_of<triax::MixedPrecision<triax::fp16>>(
    triax::test::ThreadWorldRank, const triax::test::GptOptions&);
