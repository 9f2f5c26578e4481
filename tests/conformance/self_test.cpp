// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <triax/comm/self.hpp>

#include "conformance/behaviour.hpp"

using namespace triax;

TEST_CASE("SelfCommunicator conforms") {
  SelfCommunicator self;
  test::conforms(self);
  test::behaves(self);
  test::exchanges_with_neighbours(self, 1000, 3);
}
