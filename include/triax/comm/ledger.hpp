// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Counts what a rank sends through a communicator.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace triax {

/// What left a rank.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  constexpr Traffic& operator+=(const Traffic& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
  friend constexpr Traffic operator+(Traffic a, const Traffic& b) { return a += b; }
  friend constexpr bool operator==(const Traffic&, const Traffic&) = default;
};

/// The operations that make traffic. A `recv` makes none: its sender did.
enum class Operation : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  send,
  barrier
};

inline constexpr std::size_t operation_count = 7;

constexpr const char* name(Operation operation) {
  constexpr std::array<const char*, operation_count> names{
      "all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all", "send", "barrier"};
  return names[static_cast<std::size_t>(operation)];
}

/// The traffic of one rank on one communicator, by operation.
class Ledger {
 public:
  /// One more call of `operation`, which sent `bytes`.
  constexpr void add(Operation operation, std::uint64_t bytes) {
    traffic_[static_cast<std::size_t>(operation)] += Traffic{1, bytes};
  }
  constexpr Traffic of(Operation operation) const { return traffic_[static_cast<std::size_t>(operation)]; }
  constexpr Traffic total() const {
    Traffic sum;
    for (const Traffic& traffic : traffic_) sum += traffic;
    return sum;
  }
  constexpr void reset() { traffic_ = {}; }

  friend constexpr bool operator==(const Ledger&, const Ledger&) = default;

 private:
  std::array<Traffic, operation_count> traffic_{};
};

}  // namespace triax
