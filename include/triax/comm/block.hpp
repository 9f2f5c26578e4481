// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// How the ranks of a group divide a buffer of any size among themselves.

#pragma once

#include <cstddef>

namespace triax {

/// Elements in the block of rank `rank` when `elements` are divided over `ranks`: sizes differ by at most
/// one, larger blocks come first.
constexpr std::size_t block_size(std::size_t elements, int ranks, int rank) {
  const auto d = static_cast<std::size_t>(ranks);
  return elements / d + (static_cast<std::size_t>(rank) < elements % d ? 1 : 0);
}

/// The first element of that block.
constexpr std::size_t block_begin(std::size_t elements, int ranks, int rank) {
  const auto d = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  return elements / d * r + (r < elements % d ? r : elements % d);
}

}  // namespace triax
