// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The action table of a pipeline: what every rank does in a step, in order.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <triax/schedule/action.hpp>
#include <triax/schedule/constexpr_array.hpp>
#include <triax/schedule/fault.hpp>
#include <triax/schedule/placement.hpp>

namespace triax {

/// What a table is made for.
struct TableShape {
  int ranks = 1;
  int micro_batches = 1;
  int virtual_stages = 1;  ///< per rank
  Passes passes = Passes::forward_backward;
  Placement placement = round_robin;

  /// Whether the numbers are positive and fit an Action.
  constexpr bool valid() const {
    constexpr int most_micro_batches = 0xffff, most_virtual_stages = 0xff, most_ranks = 0x7fff;
    return ranks > 0 && ranks <= most_ranks && micro_batches > 0 && micro_batches <= most_micro_batches &&
           virtual_stages > 0 && virtual_stages <= most_virtual_stages;
  }
  /// The most actions that a rank can have without repeating one: each computation with a receive and a send,
  /// except `backward_weight`, which communicates nothing.
  constexpr int most_actions() const {
    const int per_piece = passes == Passes::forward ? 3 : passes == Passes::forward_backward ? 6 : 7;
    return micro_batches * virtual_stages * per_piece;
  }
};

/// A set of kinds of action: the bit `1 << kind` for each.
using ActionSet = unsigned;

/// The set that holds one kind.
constexpr ActionSet set_of(Do what) { return 1U << static_cast<unsigned>(what); }

/// The actions of every rank, usable in constant expressions and at run time.
///
/// Tables are made by make_table, which verifies and annotates them. The modifiers serve builder, verifier
/// and tests.
class ScheduleTable {
 public:
  constexpr ScheduleTable() : ScheduleTable(TableShape{}) {}
  /// An empty table. A shape that is not valid, or whose placement is no bijection, is recorded as a fault.
  constexpr explicit ScheduleTable(const TableShape& shape)
      : shape_(shape.valid() ? shape : TableShape{}),
        capacity_(shape_.most_actions()),
        actions_(shape_.ranks * capacity_),
        counts_(shape_.ranks),
        slots_(shape_.ranks),
        stages_(positions()),
        holders_(positions()) {
    if (!shape.valid()) record({Fault::extents});
    place();
  }

  constexpr int ranks() const { return shape_.ranks; }
  constexpr int micro_batches() const { return shape_.micro_batches; }
  /// The number of virtual stages that each rank holds.
  constexpr int virtual_stages() const { return shape_.virtual_stages; }
  constexpr Passes passes() const { return shape_.passes; }

  /// What `rank` does, in order.
  constexpr std::span<const Action> actions(int rank) const {
    return {actions_.data + rank * capacity_, static_cast<std::size_t>(counts_.data[rank])};
  }
  /// How many slots `rank` needs: its largest number of micro-batches in flight, each virtual stage counted
  /// apart.
  constexpr int slots(int rank) const { return slots_.data[rank]; }

  constexpr Fault fault() const { return verdict_.fault; }
  constexpr const Verdict& verdict() const { return verdict_; }

  /// The number of positions in the model: `ranks() * virtual_stages()`.
  constexpr int positions() const { return shape_.ranks * shape_.virtual_stages; }
  /// The position of a rank's virtual stage in the model, from the input to the loss.
  constexpr int position(int rank, int virtual_stage) const { return stage(rank, virtual_stage).position; }
  /// The rank that holds a position.
  constexpr int rank_of(int position) const { return holders_.data[position].rank; }
  /// Which of its rank's virtual stages a position is.
  constexpr int virtual_stage_of(int position) const { return holders_.data[position].virtual_stage; }

  /// The rank that holds the preceding position; -1 at the input. It may be `rank` itself: then the stream is
  /// handed over in place, and the table holds no message for it.
  constexpr int previous_rank(int rank, int virtual_stage) const {
    const int at = position(rank, virtual_stage);
    return at == 0 ? -1 : rank_of(at - 1);
  }
  /// The rank that holds the following position; -1 at the loss. As for `previous_rank`, it may be `rank`.
  constexpr int next_rank(int rank, int virtual_stage) const {
    const int at = position(rank, virtual_stage);
    return at == positions() - 1 ? -1 : rank_of(at + 1);
  }
  /// The other rank of a message: where a receive comes from, where a send goes to.
  constexpr int peer(int rank, const Action& action) const {
    const bool upstream = action.what == Do::receive_activation || action.what == Do::send_gradient;
    return upstream ? previous_rank(rank, action.virtual_stage) : next_rank(rank, action.virtual_stage);
  }
  /// The kinds of action that a virtual stage needs for every micro-batch.
  constexpr ActionSet needed(int rank, int virtual_stage) const { return stage(rank, virtual_stage).needed; }

  /// Adds an action at the end of a rank's table. One too many, or one that names nothing that exists, is
  /// recorded as a fault instead.
  constexpr void append(int rank, Do what, int micro_batch, int virtual_stage) {
    if (rank < 0 || rank >= ranks() || micro_batch < 0 || micro_batch >= micro_batches() ||
        virtual_stage < 0 || virtual_stage >= virtual_stages())
      return record({Fault::out_of_range});
    int& count = counts_.data[rank];
    if (count == capacity_) return record({Fault::repeated_work, rank, count - 1});
    actions_.data[rank * capacity_ + count++] = {what, static_cast<std::uint8_t>(virtual_stage), false,
                                                 static_cast<std::uint16_t>(micro_batch), 0};
  }
  /// Records a fault; the first one stays.
  constexpr void record(const Verdict& verdict) {
    if (verdict_.fault == Fault::none) verdict_ = verdict;
  }
  /// The actions of a rank, to be annotated.
  constexpr std::span<Action> edit(int rank) {
    return {actions_.data + rank * capacity_, static_cast<std::size_t>(counts_.data[rank])};
  }
  constexpr void set_slots(int rank, int slots) { slots_.data[rank] = slots; }

 private:
  struct VirtualStage {
    int position = 0;
    ActionSet needed = 0;
  };
  struct Holder {
    int rank = -1;
    int virtual_stage = 0;
  };

  constexpr VirtualStage& stage(int rank, int virtual_stage) const {
    return stages_.data[rank * shape_.virtual_stages + virtual_stage];
  }

  constexpr void place() {
    for (int rank = 0; rank < ranks(); ++rank)
      for (int i = 0; i < virtual_stages(); ++i) {
        const int at = shape_.placement(rank, i, ranks());
        if (at < 0 || at >= positions() || rank_of(at) >= 0) return record({Fault::placement, rank});
        stage(rank, i).position = at;
        holders_.data[at] = {rank, i};
      }
    for (int rank = 0; rank < ranks(); ++rank)
      for (int i = 0; i < virtual_stages(); ++i) stage(rank, i).needed = needs(rank, i);
  }

  constexpr ActionSet needs(int rank, int virtual_stage) const {
    const int before = previous_rank(rank, virtual_stage), after = next_rank(rank, virtual_stage);
    const bool has_source = before >= 0 && before != rank, has_target = after >= 0 && after != rank;
    ActionSet kinds = set_of(Do::forward);
    if (has_source) kinds |= set_of(Do::receive_activation);
    if (has_target) kinds |= set_of(Do::send_activation);
    if (passes() == Passes::forward) return kinds;
    kinds |= set_of(Do::backward);
    if (has_target) kinds |= set_of(Do::receive_gradient);
    if (has_source) kinds |= set_of(Do::send_gradient);
    if (passes() == Passes::forward_backward_weight) kinds |= set_of(Do::backward_weight);
    return kinds;
  }

  TableShape shape_;
  int capacity_;                                 // actions of a rank
  detail::ConstexprArray<Action> actions_;       // a row of `capacity_` for each rank
  detail::ConstexprArray<int> counts_;           // of actions, by rank
  detail::ConstexprArray<int> slots_;            // by rank
  detail::ConstexprArray<VirtualStage> stages_;  // by rank and virtual stage
  detail::ConstexprArray<Holder> holders_;       // by position
  Verdict verdict_{};
};

}  // namespace triax
