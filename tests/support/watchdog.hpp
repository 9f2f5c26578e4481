// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Ends a test that hangs, with a message.

#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "support/sanitizers.hpp"

namespace triax::test {

/// Aborts the process with a message if the object lives longer than `seconds`, ten times as long under a
/// sanitizer.
class Watchdog {
 public:
  /// Returns when the watching thread waits, so that a test sees nothing of its start.
  Watchdog(double seconds, std::string what)
      : what_(std::move(what)), limit_(sanitized ? 10 * seconds : seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return started_; });
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      finished_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    started_ = true;
    changed_.notify_one();
    if (changed_.wait_for(lock, limit_, [this] { return finished_; })) return;
    std::fprintf(stderr, "watchdog: '%s' did not end within %g seconds\n", what_.c_str(), limit_.count());
    std::signal(SIGABRT, SIG_DFL);  // doctest's handler would wait for the test that hangs
    std::abort();
  }

  std::string what_;
  std::chrono::duration<double> limit_;
  bool started_ = false;
  bool finished_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_{&Watchdog::watch, this};  // the last member: it reads the others
};

}  // namespace triax::test
