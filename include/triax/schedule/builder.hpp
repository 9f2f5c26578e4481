// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Through which a schedule states its order of work.

#pragma once

#include <triax/schedule/table.hpp>

namespace triax {

/// Collects the computations of every rank in their order; the messages between ranks are added by itself, a
/// receive right before the computation that needs it, a send right after the one that produces it.
///
/// The ranks may be described one after the other or in turns: only the order within a rank counts.
class ScheduleBuilder {
 public:
  constexpr explicit ScheduleBuilder(ScheduleTable& table) : table_(table) {}

  /// The virtual stages of each rank, as declared by the schedule.
  constexpr int virtual_stages() const { return table_.virtual_stages(); }

  /// The forward pass of a micro-batch through one virtual stage of a rank.
  constexpr void forward(int rank, int micro_batch, int virtual_stage = 0) {
    add(Do::receive_activation, Do::forward, Do::send_activation, rank, micro_batch, virtual_stage);
  }
  /// The backward pass; only the gradient of the input when the schedule splits its backward passes.
  constexpr void backward(int rank, int micro_batch, int virtual_stage = 0) {
    add(Do::receive_gradient, Do::backward, Do::send_gradient, rank, micro_batch, virtual_stage);
  }
  /// The gradients of the parameters, in a schedule that splits its backward passes.
  constexpr void backward_weight(int rank, int micro_batch, int virtual_stage = 0) {
    if (usable(rank, virtual_stage)) table_.append(rank, Do::backward_weight, micro_batch, virtual_stage);
  }
  /// States that the schedule does not exist for these numbers of ranks and micro-batches.
  constexpr void refuse() { table_.record({Fault::extents}); }

 private:
  constexpr bool usable(int rank, int virtual_stage) {
    const bool exists =
        rank >= 0 && rank < table_.ranks() && virtual_stage >= 0 && virtual_stage < table_.virtual_stages();
    if (!exists) table_.record({Fault::out_of_range});
    return exists && table_.fault() == Fault::none;
  }

  constexpr void add(Do receive, Do compute, Do send, int rank, int micro_batch, int virtual_stage) {
    if (!usable(rank, virtual_stage)) return;
    const ActionSet needed = table_.needed(rank, virtual_stage);
    if (needed & set_of(receive)) table_.append(rank, receive, micro_batch, virtual_stage);
    table_.append(rank, compute, micro_batch, virtual_stage);
    if (needed & set_of(send)) table_.append(rank, send, micro_batch, virtual_stage);
  }

  ScheduleTable& table_;
};

}  // namespace triax
