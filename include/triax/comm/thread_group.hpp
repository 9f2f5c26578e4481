// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The shared memory of one communicator among threads.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <triax/comm/meeting_place.hpp>
#include <triax/comm/thread_world.hpp>

namespace triax {

/// A message that waits for its receiver, which copies it from the sender's buffer.
struct ThreadMessage {
  const std::byte* data = nullptr;
  std::size_t elements = 0;
  const char* type = "";
};

/// The messages from one rank to another, in order. A few may lie here; senders of later ones wait.
class ThreadChannel {
 public:
  /// Lays down message number `number`, if its place is free.
  bool offer(std::uint64_t number, const ThreadMessage& message) noexcept {
    Place& place = place_of(number);
    if (place.stage.load(std::memory_order_acquire) != 2 * turn(number)) return false;
    place.message = message;
    place.stage.store(2 * turn(number) + 1, std::memory_order_release);
    return true;
  }
  /// Message number `number`, or null if it has not come.
  const ThreadMessage* find(std::uint64_t number) const noexcept {
    const Place& place = place_of(number);
    return place.stage.load(std::memory_order_acquire) == 2 * turn(number) + 1 ? &place.message : nullptr;
  }
  void take(std::uint64_t number) noexcept {
    place_of(number).stage.store(2 * turn(number) + 2, std::memory_order_release);
  }
  bool is_taken(std::uint64_t number) const noexcept {
    return place_of(number).stage.load(std::memory_order_acquire) >= 2 * turn(number) + 2;
  }

 private:
  struct Place {
    // 2 t: free for the message of turn t; 2 t + 1: that message lies here.
    std::atomic<std::uint64_t> stage{0};
    ThreadMessage message;
  };

  static std::uint64_t turn(std::uint64_t number) noexcept { return number / places; }
  Place& place_of(std::uint64_t number) noexcept { return places_[number % places]; }
  const Place& place_of(std::uint64_t number) const noexcept { return places_[number % places]; }

  static constexpr std::size_t places = 4;
  std::array<Place, places> places_;
};

/// What the ranks of one communicator share.
class ThreadGroup {
 public:
  ThreadGroup(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks)
      : world_(std::move(world)), world_ranks_(std::move(world_ranks)), split_off_(world_ranks_.size()) {
    for (std::uint64_t number = 0; number < places; ++number) places_.emplace_back(size(), number);
    channels_ = std::make_unique<ThreadChannel[]>(world_ranks_.size() * world_ranks_.size());
  }

  int size() const noexcept { return static_cast<int>(world_ranks_.size()); }
  ThreadWorld& world() const noexcept { return *world_; }
  const std::shared_ptr<ThreadWorld>& shared_world() const noexcept { return world_; }
  int world_rank(int rank) const noexcept { return world_ranks_[static_cast<std::size_t>(rank)]; }

  MeetingPlace& place(std::uint64_t number) noexcept { return places_[number % places]; }
  /// The number of the call that meets where call number `number` met.
  static constexpr std::uint64_t next_in_place(std::uint64_t number) noexcept { return number + places; }

  ThreadChannel& channel(int from, int to) noexcept {
    return channels_[static_cast<std::size_t>(from) * world_ranks_.size() + static_cast<std::size_t>(to)];
  }

  void ring(int rank) noexcept { world_->bell(world_rank(rank)).ring(); }
  void ring_others(int rank) noexcept {
    for (int other = 0; other < size(); ++other) {
      if (other != rank) ring(other);
    }
  }

  /// Where the first rank of a group that is split off leaves it for the others.
  std::shared_ptr<ThreadGroup>& split_off(int rank) noexcept {
    return split_off_[static_cast<std::size_t>(rank)];
  }

 private:
  // Collectives of one group that may be under way at the same time.
  static constexpr std::size_t places = 16;

  std::shared_ptr<ThreadWorld> world_;
  std::vector<int> world_ranks_;
  std::deque<MeetingPlace> places_;
  std::unique_ptr<ThreadChannel[]> channels_;
  std::vector<std::shared_ptr<ThreadGroup>> split_off_;
};

}  // namespace triax
