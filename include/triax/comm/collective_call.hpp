// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A call of a collective with its types forgotten, as the ranks of a group compare it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <triax/comm/concat.hpp>
#include <triax/comm/reduction.hpp>

namespace triax {

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  barrier
};

constexpr const char* name(Collective kind) {
  constexpr const char* names[] = {"all_reduce", "reduce_scatter", "all_gather",
                                   "broadcast",  "all_to_all",     "barrier"};
  return names[static_cast<int>(kind)];
}

/// One rank's call of a collective.
struct CollectiveCall {
  Collective kind = Collective::barrier;
  const char* type = "";  ///< name of the elements' type
  std::size_t element_bytes = 1;
  std::size_t elements = 0;  ///< in a block; in the whole buffer of an all_reduce or broadcast
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  Reduction reduce = nullptr;
  const char* op = "";  ///< name of the reduction operation
  int root = 0;         ///< of a broadcast, in the group

  /// Whether two ranks can do this together.
  bool agrees_with(const CollectiveCall& other) const {
    return kind == other.kind && elements == other.elements && root == other.root && reduce == other.reduce &&
           std::strcmp(type, other.type) == 0;
  }

  /// For example "all_reduce of 1000 fp32 elements (sum)".
  std::string describe() const {
    if (kind == Collective::barrier) return name(kind);
    const bool whole = kind == Collective::all_reduce || kind == Collective::broadcast;
    std::string text =
        detail::concat(name(kind), " of ", elements, " ", type, whole ? " elements" : " elements a block");
    if (reduce) text += detail::concat(" (", op, ")");
    if (kind == Collective::broadcast) text += detail::concat(" from rank ", root, " of the group");
    return text;
  }
};

}  // namespace triax
