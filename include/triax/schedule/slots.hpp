// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Assigns slots to the actions of a verified table.

#pragma once

#include <cstdint>

#include <triax/schedule/table.hpp>

namespace triax {

/// Fills in `slot` and `last` of every action, and the number of slots of every rank.
///
/// A piece of work (micro-batch, virtual stage) takes a slot with its first action and frees it with its last
/// computation, so a rank has exactly as many slots as pieces in flight at its peak. Of the free slots the
/// one freed last is taken, since its memory is warm. Without backward passes nothing is kept: two slots
/// alternate, so that one can be sent while the other is filled.
constexpr void assign_slots(ScheduleTable& table) {
  const int micro_batches = table.micro_batches(), pieces = table.virtual_stages() * micro_batches;
  const bool keeps = table.passes() != Passes::forward;
  const Do frees = table.passes() == Passes::forward_backward_weight ? Do::backward_weight : Do::backward;
  for (int rank = 0; rank < table.ranks(); ++rank) {
    detail::ConstexprArray<int> slot_of(pieces);  // slot + 1; 0 before the first action
    detail::ConstexprArray<int> free(pieces);     // a stack
    int begun = 0, used = 0, free_count = 0;
    const auto actions = table.edit(rank);
    Action* const action = actions.data();
    for (int i = 0, end = static_cast<int>(actions.size()); i < end; ++i) {
      int& slot = slot_of.data[action[i].virtual_stage * micro_batches + action[i].micro_batch];
      if (slot == 0) {
        const int fresh = keeps ? used + 1 : 1 + begun++ % 2;
        slot = free_count > 0 ? free.data[--free_count] : fresh;
        used = slot > used ? slot : used;
      }
      action[i].slot = static_cast<std::uint16_t>(slot - 1);
      if (keeps && action[i].what == frees) {
        free.data[free_count++] = slot;
        action[i].last = action[i].micro_batch == micro_batches - 1;
      }
    }
    table.set_slots(rank, used);
  }
}

}  // namespace triax
