// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What every operation of a communicator returns.

#pragma once

#include <utility>

#include <triax/comm/progress.hpp>

namespace triax {

/// An operation that may still be under way. Its buffers must live, and stay untouched, until it has
/// completed.
///
/// A request that is destroyed before `wait()` waits; if that is because an exception passes, it marks the
/// communicator as failed instead. A request is used by the thread that made it.
class [[nodiscard]] Request {
 public:
  /// A completed operation.
  Request() = default;
  /// Begins `operation`; throws if it cannot be begun.
  explicit Request(PendingOperation& operation) {
    Progress::of_this_thread().start(operation);
    operation_ = &operation;
  }
  Request(Request&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
  /// Waits for the operation held so far.
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      if (operation_) Progress::of_this_thread().drop(*operation_);
      operation_ = std::exchange(other.operation_, nullptr);
    }
    return *this;
  }
  ~Request() {
    if (operation_) Progress::of_this_thread().drop(*operation_);
  }

  /// Returns when the operation has completed on this rank. Throws MismatchError, TimeoutError or
  /// CommunicatorError if it cannot; the buffers are then of undefined content but no longer in use.
  void wait() {
    if (operation_) Progress::of_this_thread().wait(*std::exchange(operation_, nullptr));
  }

  /// Makes progress on all operations of this rank; returns whether this one has completed. Throws like
  /// `wait`.
  bool test() {
    if (!operation_) return true;
    PendingOperation& operation = *std::exchange(operation_, nullptr);
    if (Progress::of_this_thread().test(operation)) return true;
    operation_ = &operation;
    return false;
  }

 private:
  PendingOperation* operation_ = nullptr;
};

}  // namespace triax
