// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the threads of one run_threads share: how they wake each other, and how one rank's failure reaches the
// others.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <triax/comm/bell.hpp>
#include <triax/comm/concat.hpp>
#include <triax/core/error.hpp>

namespace triax {

/// All ranks of a run. Ranks are numbered as in the world communicator, here and in messages.
///
/// The first failure ends the world: every later wait that cannot complete throws. A rank that ends with an
/// exception frees its buffers, so peers read and write them only while they hold an Access, and the failing
/// rank waits until no one does.
class ThreadWorld {
 public:
  enum class Cause {
    none,
    unwinding,  ///< an exception passes through a rank; its reason is not known yet
    exception,
    mismatch,
    timeout,
  };

  explicit ThreadWorld(int size)
      : size_(size), ranks_(std::make_unique<Rank[]>(static_cast<std::size_t>(size))) {}

  int size() const noexcept { return size_; }
  Bell& bell(int rank) noexcept { return at(rank).bell; }

  std::chrono::milliseconds deadline() const noexcept {
    return std::chrono::milliseconds(deadline_.load(std::memory_order_relaxed));
  }
  void set_deadline(std::chrono::milliseconds deadline) noexcept {
    deadline_.store(deadline.count(), std::memory_order_relaxed);
  }

  /// A rank has returned: whoever still needs it waits in vain.
  void leave(int rank) noexcept {
    at(rank).left.store(true, std::memory_order_release);
    ring_all();
  }
  bool has_left(int rank) const noexcept { return at(rank).left.load(std::memory_order_acquire); }

  bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }

  /// Records the failure of `rank`, unless there is an earlier one.
  void fail(int rank, Cause cause, std::string reason) {
    {
      std::lock_guard lock(mutex_);
      if (cause_ == Cause::none || (cause_ == Cause::unwinding && culprit_ == rank)) {
        culprit_ = rank;
        cause_ = cause;
        reason_ = std::move(reason);
      }
      failed_.store(true, std::memory_order_seq_cst);
    }
    ring_all();
  }

  /// The rank that failed first; -1 if none did.
  int culprit() const {
    std::lock_guard lock(mutex_);
    return culprit_;
  }

  /// Throws what the failure means for `rank`, which was doing `what`, when its buffers are no longer in use.
  [[noreturn]] void raise(int rank, const std::string& what) const {
    quiesce();
    await_reason();
    std::lock_guard lock(mutex_);
    if (cause_ == Cause::mismatch) throw MismatchError(reason_);
    if (cause_ == Cause::timeout) throw TimeoutError(reason_);
    throw CommunicatorError(
        detail::concat(what, " cannot complete on rank ", rank, ": rank ", culprit_, " failed: ", reason_));
  }

  /// Returns when no rank touches another's buffers. The world has failed, so that no one begins to.
  void quiesce() const noexcept {
    for (int rank = 0; rank < size_; ++rank) {
      while (at(rank).touching.load(std::memory_order_seq_cst)) std::this_thread::yield();
    }
  }

  /// Leave to read and write the buffers of peers. Refused once the world has failed.
  class Access {
   public:
    Access(ThreadWorld& world, int rank) noexcept : touching_(world.at(rank).touching) {
      // Either this rank sees the failure, or the failing rank sees this one: all four accesses are
      // sequentially consistent.
      touching_.store(true, std::memory_order_seq_cst);
      granted_ = !world.failed();
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access() { touching_.store(false, std::memory_order_release); }

    explicit operator bool() const noexcept { return granted_; }

   private:
    std::atomic<bool>& touching_;
    bool granted_;
  };

 private:
  struct alignas(128) Rank {  // two cache lines: neighbours are prefetched together
    Bell bell;
    std::atomic<bool> touching{false};
    std::atomic<bool> left{false};
  };

  Rank& at(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)]; }

  void ring_all() noexcept {
    for (int rank = 0; rank < size_; ++rank) bell(rank).ring();
  }

  /// An exception that passes through a rank is known when run_threads catches it. If the user's code catches
  /// it first, that never happens.
  void await_reason() const {
    for (int tries = 0; tries < 1000; ++tries) {
      {
        std::lock_guard lock(mutex_);
        if (cause_ != Cause::unwinding) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const int size_;
  const std::unique_ptr<Rank[]> ranks_;
  std::atomic<std::chrono::milliseconds::rep> deadline_{
      std::chrono::milliseconds(std::chrono::minutes(30)).count()};
  std::atomic<bool> failed_{false};

  mutable std::mutex mutex_;  // guards what follows
  int culprit_ = -1;
  Cause cause_ = Cause::none;
  std::string reason_;
};

}  // namespace triax
