// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The outstanding operations of a rank, and the one way in which a rank waits.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

#include <triax/comm/bell.hpp>

namespace triax {

class Progress;

/// An operation that this rank has begun: a state machine that backends derive from. A backend takes it from
/// a pool, Progress advances it until it is complete, and its Request gives it back.
class PendingOperation {
 public:
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;

 protected:
  PendingOperation() = default;
  virtual ~PendingOperation() = default;

  /// Does what can be done without blocking, calls `complete()` at the end, and returns whether anything
  /// changed. Throws what makes completion impossible, once no peer touches this rank's buffers any more.
  virtual bool advance() = 0;
  /// Called before this rank sleeps: throws if a peer that is needed has left.
  virtual void check_peers() {}
  /// How long nothing may happen before `expire`, which throws a TimeoutError that names the missing ranks.
  virtual std::chrono::milliseconds deadline() const = 0;
  [[noreturn]] virtual void expire() = 0;
  /// The request ends before the operation: makes sure that no peer touches this rank's buffers any more.
  virtual void abandon() noexcept = 0;
  /// The request has ended.
  virtual void recycle() noexcept = 0;

  void complete() noexcept { completed_ = true; }

 private:
  friend Progress;

  PendingOperation* previous_ = nullptr;
  PendingOperation* next_ = nullptr;
  std::exception_ptr error_;
  int exceptions_at_start_ = 0;
  bool completed_ = false;
};

/// The outstanding operations of the calling thread, which is a rank, on all its communicators. Every wait
/// advances all of them: else two ranks that wait for operations in different orders would wait for each
/// other.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  static Progress& of_this_thread() {
    static thread_local Progress progress;
    return progress;
  }

  /// The bell that peers in other threads ring for this one; null if progress is only seen by looking.
  void listen_to(Bell* bell) noexcept { bell_ = bell; }

  /// Requests that have neither been waited for nor tested to completion.
  std::size_t pending() const noexcept { return pending_; }

  /// Begins `operation` and advances it once. On an exception the operation is back in its pool.
  void start(PendingOperation& operation) {
    operation.completed_ = false;
    operation.exceptions_at_start_ = std::uncaught_exceptions();
    append(operation);
    ++pending_;
    advance(operation);
    if (operation.error_) finish(operation);
  }

  /// Advances every outstanding operation once; returns whether anything changed.
  bool poll() {
    bool changed = false;
    for (PendingOperation* operation = first_; operation;) {
      PendingOperation* next = operation->next_;
      changed |= advance(*operation);
      operation = next;
    }
    return changed;
  }

  /// Advances everything; if `operation` is then complete, ends it and returns true.
  bool test(PendingOperation& operation) {
    if (!operation.completed_) poll();
    if (!operation.completed_) return false;
    finish(operation);
    return true;
  }

  /// Returns when `operation` is complete, or throws what prevented that; either way it is back in its pool.
  void wait(PendingOperation& operation) {
    try {
      wait_until_complete(operation);
    } catch (...) {
      forget(operation);
      throw;
    }
    finish(operation);
  }

  /// What the destructor of an unfinished request does: it waits, unless an exception is on its way through
  /// this rank.
  void drop(PendingOperation& operation) noexcept {
    if (!operation.completed_ && std::uncaught_exceptions() > operation.exceptions_at_start_) {
      return forget(operation);
    }
    try {
      wait(operation);
    } catch (...) {  // the communicator is now marked as failed: the next operation says so
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // There may be more ranks than cores: look a few times, then let others run, then sleep.
  static constexpr int looks = 16, yields = 64;
  static constexpr std::chrono::microseconds sleep_until_rung{2000}, sleep_between_looks{50};

  void wait_until_complete(PendingOperation& operation) {
    Clock::time_point idle_since{};
    for (int idle = 0; !operation.completed_; ++idle) {
      const std::uint32_t heard = bell_ ? bell_->rings() : 0;
      if (poll()) {
        idle = -1;
      } else if (idle < looks) {
        continue;
      } else if (idle < looks + yields) {
        if (idle == looks) idle_since = Clock::now();
        std::this_thread::yield();
      } else {
        operation.check_peers();
        if (Clock::now() - idle_since > operation.deadline()) operation.expire();
        if (bell_) {
          bell_->sleep(heard, sleep_until_rung);
        } else {
          std::this_thread::sleep_for(sleep_between_looks);
        }
        idle = looks + yields;  // the count must not overflow in a long wait
      }
    }
  }

  /// Advances one operation. An error is kept for the request of that operation: the caller may be waiting
  /// for another.
  bool advance(PendingOperation& operation) {
    bool changed = true;
    try {
      changed = operation.advance();
    } catch (...) {
      operation.error_ = std::current_exception();
      operation.completed_ = true;
    }
    if (operation.completed_) unlink(operation);
    return changed;
  }

  void finish(PendingOperation& operation) {
    const std::exception_ptr error = std::exchange(operation.error_, nullptr);
    --pending_;
    operation.recycle();
    if (error) std::rethrow_exception(error);
  }

  void forget(PendingOperation& operation) noexcept {
    if (!operation.completed_) {
      unlink(operation);
      operation.abandon();
    }
    operation.error_ = nullptr;
    --pending_;
    operation.recycle();
  }

  void append(PendingOperation& operation) noexcept {
    operation.previous_ = last_;
    operation.next_ = nullptr;
    (last_ ? last_->next_ : first_) = &operation;
    last_ = &operation;
  }

  void unlink(PendingOperation& operation) noexcept {
    (operation.previous_ ? operation.previous_->next_ : first_) = operation.next_;
    (operation.next_ ? operation.next_->previous_ : last_) = operation.previous_;
    operation.previous_ = operation.next_ = nullptr;
  }

  PendingOperation* first_ = nullptr;
  PendingOperation* last_ = nullptr;
  std::size_t pending_ = 0;
  Bell* bell_ = nullptr;
};

}  // namespace triax
