// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Lets a rank that is a thread sleep until a peer has done something that may concern it.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace triax {

/// One thread sleeps, any thread rings. Nothing is lost: read `rings()`, look for work, then sleep if the
/// number is still the same.
class Bell {
 public:
  std::uint32_t rings() const noexcept { return rings_.load(std::memory_order_acquire); }

  void ring() noexcept {
    // Either this thread sees the sleeper, or the sleeper sees the ring: both orders are sequentially
    // consistent.
    rings_.fetch_add(1, std::memory_order_seq_cst);
    if (!asleep_.load(std::memory_order_seq_cst)) return;
    std::lock_guard lock(mutex_);
    changed_.notify_one();
  }

  /// Returns when the bell has rung since `rings()` was `heard`, at the latest after `limit`.
  void sleep(std::uint32_t heard, std::chrono::microseconds limit) {
    std::unique_lock lock(mutex_);
    asleep_.store(true, std::memory_order_seq_cst);
    changed_.wait_for(lock, limit, [&] { return rings_.load(std::memory_order_seq_cst) != heard; });
    asleep_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace triax
