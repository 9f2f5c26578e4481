// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>

#include <triax/triax.hpp>

int main() {
  std::atomic<int> ranks = 0;
  triax::run_threads(2, [&](triax::ThreadCommunicator world) { ranks += world.size(); });
  return ranks == 4 ? 0 : 1;
}
