// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Which rank holds which part of the model.

#pragma once

namespace triax {

/// Maps (rank, virtual stage) to the position of that virtual stage in the model: 0 is next to the input,
/// `ranks * virtual_stages - 1` next to the loss. A bijection, checked by the verifier.
using Placement = int (*)(int rank, int virtual_stage, int ranks);

/// The default placement: the positions are dealt to the ranks in turn.
/// Narayanan et al., "Efficient large-scale language model training on GPU clusters", SC 2021, section 2.2.
constexpr int round_robin(int rank, int virtual_stage, int ranks) { return virtual_stage * ranks + rank; }

}  // namespace triax
