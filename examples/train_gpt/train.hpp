// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A run of training, for each precision and kind of ranks. Each is compiled in a file of its own.

#pragma once

#include <triax/comm/extents.hpp>

#include "footprint.hpp"
#include "options.hpp"
#include "text.hpp"

namespace train_gpt {

/// Trains, validates and reports as the options say, layers computing in T, on the calling rank of `world`.
/// Throws Refusal, on every rank alike and before anything is written, for what cannot work.
template <class T, class World>
void train(World world, const Options& options, const Text& text);

/// What a run will take on a mesh. Needs no ranks. Throws Refusal for what cannot work.
template <class T>
GptPlan make_plan(const Options& options);

}  // namespace train_gpt
