// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that refuse together.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <triax/comm/reduction.hpp>

#include "refusal.hpp"

namespace train_gpt {

/// Calls `f` on every rank. If it throws a Refusal on some ranks, all throw that of the lowest of them.
/// Collective.
template <class Communicator, class F>
void refuse_together(Communicator& world, F f) {
  std::vector<std::uint8_t> reason;
  try {
    f();
  } catch (const Refusal& refusal) {
    const std::string text = refusal.what();
    reason.assign(text.begin(), text.end());
  }
  std::vector<std::int32_t> first{reason.empty() ? world.size() : world.rank()};
  world.all_reduce(std::span(first), triax::Min{}).wait();
  if (first[0] == world.size()) return;

  std::vector<std::int64_t> length{static_cast<std::int64_t>(reason.size())};
  world.broadcast(std::span(length), first[0]).wait();
  reason.resize(static_cast<std::size_t>(length[0]));
  world.broadcast(std::span(reason), first[0]).wait();
  throw Refusal(std::string(reason.begin(), reason.end()));
}

}  // namespace train_gpt
