// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Puts every doctest test case of a program under a watchdog. To be included by the file with the main
// function.

#pragma once

#include <optional>

#include <doctest/doctest.h>

#include "support/watchdog.hpp"

namespace triax::test {

/// A test case gets 60 seconds, or what its decorator doctest::timeout(seconds) says.
struct WatchdogListener : doctest::IReporter {
  explicit WatchdogListener(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& test) override {
    watchdog_.emplace(test.m_timeout > 0 ? test.m_timeout : 60, test.m_name);
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { watchdog_.reset(); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  std::optional<Watchdog> watchdog_;
};

DOCTEST_REGISTER_LISTENER("watchdog", 1, WatchdogListener);

}  // namespace triax::test
