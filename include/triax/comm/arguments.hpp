// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the operations demand of their arguments, checked on each rank before anything moves.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <triax/comm/concat.hpp>
#include <triax/core/error.hpp>

namespace triax {

/// A rank of a group, as operations check it.
struct GroupRank {
  int rank;
  int size;
};

/// Throws CommunicatorError unless `peer` is a rank of the group.
inline void check_peer(const char* operation, GroupRank self, int peer) {
  if (peer >= 0 && peer < self.size) return;
  throw CommunicatorError(detail::concat(operation, " on rank ", self.rank, ": there is no rank ", peer,
                                         " in a group of ", self.size));
}

/// Throws CommunicatorError for a negative color of `split`.
inline void check_color(GroupRank self, int color) {
  if (color >= 0) return;
  throw CommunicatorError(
      detail::concat("split on rank ", self.rank, ": a color is not negative, but ", color, " was given"));
}

namespace detail {

inline bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto first = [](auto s) { return reinterpret_cast<std::uintptr_t>(s.data()); };
  return first(a) < first(b) + b.size() && first(b) < first(a) + a.size();
}

}  // namespace detail

/// Throws ShapeError unless `full` holds one block of `own` elements per rank.
inline void check_block_sizes(const char* operation, GroupRank self, std::size_t own, std::size_t full) {
  const std::size_t wanted = own * static_cast<std::size_t>(self.size);
  if (full == wanted) return;
  throw ShapeError(detail::concat(operation, " on rank ", self.rank, ": the full buffer has ", full,
                                  " elements, but ", self.size, " ranks with blocks of ", own, " need ",
                                  wanted));
}

/// Also throws it unless `own` is apart from `full` or this rank's block of it.
template <class T>
void check_blocks(const char* operation, GroupRank self, std::span<const T> own, std::span<const T> full) {
  check_block_sizes(operation, self, own.size(), full.size());
  const T* block = full.data() + own.size() * static_cast<std::size_t>(self.rank);
  if (own.data() == block || !detail::overlap(std::as_bytes(own), std::as_bytes(full))) return;
  throw ShapeError(detail::concat(operation, " on rank ", self.rank, ": the rank's own buffer of ",
                                  own.size(),
                                  " elements overlaps the full buffer without being its own block"));
}

/// Throws ShapeError unless both buffers of an all_to_all have the same size, a multiple of the group's.
inline void check_exchange_sizes(GroupRank self, std::size_t in, std::size_t out) {
  if (in != out) {
    throw ShapeError(detail::concat("all_to_all on rank ", self.rank, ": the buffers have ", in, " and ", out,
                                    " elements"));
  }
  if (in % static_cast<std::size_t>(self.size) == 0) return;
  throw ShapeError(detail::concat("all_to_all on rank ", self.rank, ": ", in,
                                  " elements cannot be divided among ", self.size, " ranks"));
}

/// Also throws it if they overlap.
template <class T>
void check_exchange(GroupRank self, std::span<const T> in, std::span<const T> out) {
  check_exchange_sizes(self, in.size(), out.size());
  if (!detail::overlap(std::as_bytes(in), std::as_bytes(out))) return;
  throw ShapeError(detail::concat("all_to_all on rank ", self.rank, ": the two buffers of ", in.size(),
                                  " elements overlap"));
}

}  // namespace triax
