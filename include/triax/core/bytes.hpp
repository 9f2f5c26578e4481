// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Small helpers on sizes and names.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace triax {

/// `size` rounded up to a multiple of `alignment`, which may be any positive number.
constexpr std::size_t round_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

/// The 64-bit FNV-1a hash of a text (Fowler, Noll and Vo; offset basis and prime of draft-eastlake-fnv). It
/// keys random streams by name, so it must never change.
constexpr std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char character : text) {
    value ^= static_cast<unsigned char>(character);
    value *= 0x100000001b3ULL;
  }
  return value;
}

}  // namespace triax
