// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>

#include "conformance/behaviour.hpp"
#include "support/sanitizers.hpp"

using namespace triax;

TEST_CASE("ThreadCommunicator conforms") {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    if (test::sanitized && ranks > 4) continue;
    CAPTURE(ranks);
    CHECK_NOTHROW(run_threads(ranks, [](ThreadCommunicator world) { test::conforms(world); }));
  }
}

TEST_CASE("ThreadCommunicator behaves") {
  for (const int ranks : {1, 2, 3, 4, 8, 16}) {
    if (test::sanitized && ranks > 8) continue;
    CAPTURE(ranks);
    CHECK_NOTHROW(run_threads(ranks, [](ThreadCommunicator world) { test::behaves(world); }));
  }
}

TEST_CASE("O-30: neighbours send first, then receive, on threads") {
  // 100 rounds of 64 MiB would take too long for every run: there are 2, and 100 of 1 MiB.
  const std::size_t large = std::size_t{test::sanitized ? 4 : 64} << 20;
  const int rounds = test::sanitized ? 10 : 100;
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    CHECK_NOTHROW(run_threads(ranks, [&](ThreadCommunicator world) {
      test::exchanges_with_neighbours(world, large / sizeof(float), 2);
      test::exchanges_with_neighbours(world, (std::size_t{1} << 20) / sizeof(float), rounds);
    }));
  }
}

TEST_CASE("O-50: reductions on threads have the documented order") {
  CHECK_NOTHROW(run_threads(4, [](ThreadCommunicator world) { test::reduces_repeatably(world); }));
}
