// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Symbolic execution of an action table, with a clock.

#pragma once

#include <triax/schedule/table.hpp>

namespace triax {

/// How long each computation on one virtual stage takes, in any unit. Messages take no time.
struct Durations {
  double forward = 1;
  double backward = 2;         ///< of the input's gradient alone when the backward pass is split
  double backward_weight = 0;  ///< counts only when the backward pass is split
};

/// What an execution yields.
struct Execution {
  Verdict verdict{};
  double makespan = 0;  ///< from the start until the last rank is done
  double busy = 0;      ///< time of computations, summed over the ranks
};

/// The most messages of a channel that are sent and not yet received; the sender of one more waits. The
/// engine keeps the same bound.
inline constexpr int channel_depth = 2;

namespace detail {

/// Messages of one kind from one rank to another, in order and without tags.
struct Channel {
  struct Message {
    int position = 0;  // of the sender
    int micro_batch = 0;
    double sent_at = 0;
  };
  Message messages[channel_depth]{};    // a ring
  double received_at[channel_depth]{};  // when a place of the ring became free
  int sent = 0;
  int received = 0;
};

/// What a kind of action means on one virtual stage.
struct Rule {
  enum class Role { compute, send, receive };
  Role role{};
  int position = 0;  // of the virtual stage
  int source =
      -1;  // receive: the position whose message is due; compute: the position that hands over in place
  int channel = -1;     // of a message
  ActionSet after = 0;  // what must be done before, for the same micro-batch and virtual stage
  double duration = 0;
};

/// Runs every rank's actions in order until all are done, none can go on, or one is at fault.
class Executor {
 public:
  constexpr Executor(const ScheduleTable& table, const Durations& durations)
      : table_(table),
        next_(table.ranks()),
        clock_(table.ranks()),
        done_(table.positions() * table.micro_batches()),
        rules_(table.positions() * action_kinds),
        channels_(2 * table.positions()) {
    for (int position = 0; position < table.positions(); ++position) set_rules(position, durations);
  }

  constexpr Execution run() {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (int rank = 0; rank < table_.ranks(); ++rank) {
        const int before = next_.data[rank];
        advance(rank);
        if (result_.verdict.fault != Fault::none) return result_;
        if (next_.data[rank] != before) advanced = true;
      }
    }
    for (int rank = 0; rank < table_.ranks(); ++rank) {
      const bool stuck = next_.data[rank] < static_cast<int>(table_.actions(rank).size());
      if (stuck && result_.verdict.fault == Fault::none)
        result_.verdict = {Fault::deadlock, rank, next_.data[rank]};
      if (clock_.data[rank] > result_.makespan) result_.makespan = clock_.data[rank];
    }
    return result_;
  }

 private:
  enum class Progress { done, waits, dependency, message_order };

  constexpr void set_rules(int position, const Durations& durations) {
    using Role = Rule::Role;
    const int rank = table_.rank_of(position), stage = table_.virtual_stage_of(position);
    const ActionSet needed = table_.needed(rank, stage);
    const bool follows_itself = table_.previous_rank(rank, stage) == rank;
    const bool precedes_itself = table_.next_rank(rank, stage) == rank;
    const int upstream = channel(position - 1), downstream = channel(position);
    const auto set = [&](Do what, const Rule& rule) {
      Rule& entry =
          rules_.data[(rank * table_.virtual_stages() + stage) * action_kinds + static_cast<int>(what)];
      entry = rule;
      entry.position = position;
      entry.after &= needed;
    };
    set(Do::receive_activation, {.role = Role::receive, .source = position - 1, .channel = upstream});
    set(Do::forward, {.role = Role::compute,
                      .source = follows_itself ? position - 1 : -1,
                      .after = set_of(Do::receive_activation),
                      .duration = durations.forward});
    set(Do::send_activation, {.role = Role::send, .channel = downstream, .after = set_of(Do::forward)});
    set(Do::receive_gradient, {.role = Role::receive, .source = position + 1, .channel = downstream + 1});
    set(Do::backward, {.role = Role::compute,
                       .source = precedes_itself ? position + 1 : -1,
                       .after = set_of(Do::forward) | set_of(Do::receive_gradient),
                       .duration = durations.backward});
    set(Do::send_gradient, {.role = Role::send, .channel = upstream + 1, .after = set_of(Do::backward)});
    set(Do::backward_weight,
        {.role = Role::compute, .after = set_of(Do::backward), .duration = durations.backward_weight});
  }

  // The channel of activations over the boundary that follows a position; that of gradients is the next one.
  // Boundaries between the same two ranks share their channels.
  constexpr int channel(int boundary) const {
    if (boundary < 0 || boundary + 1 >= table_.positions()) return 0;
    int first = 0;
    while (table_.rank_of(first) != table_.rank_of(boundary) ||
           table_.rank_of(first + 1) != table_.rank_of(boundary + 1))
      ++first;
    return 2 * first;
  }

  // Runs actions of the rank until one must wait or is at fault.
  constexpr void advance(int rank) {
    const auto actions = table_.actions(rank);
    const Action* const action = actions.data();
    const int end = static_cast<int>(actions.size());
    for (int& i = next_.data[rank]; i < end; ++i) {
      const Progress progress = perform(rank, action[i]);
      if (progress == Progress::done) continue;
      if (progress == Progress::dependency) result_.verdict = {Fault::dependency, rank, i};
      if (progress == Progress::message_order) result_.verdict = {Fault::message_order, rank, i};
      return;
    }
  }

  constexpr Progress perform(int rank, const Action& action) {
    const int stage = rank * table_.virtual_stages() + action.virtual_stage;
    const Rule& rule = rules_.data[stage * action_kinds + static_cast<int>(action.what)];
    const ActionSet kind = 1U << static_cast<unsigned>(action.what);
    ActionSet& done = done_.data[rule.position * table_.micro_batches() + action.micro_batch];
    if ((done & rule.after) != rule.after) return Progress::dependency;

    double& clock = clock_.data[rank];
    if (rule.role == Rule::Role::compute) {
      if (rule.source >= 0 && !(done_.data[rule.source * table_.micro_batches() + action.micro_batch] & kind))
        return Progress::dependency;
      clock += rule.duration;
      result_.busy += rule.duration;
    } else {
      Channel& channel = channels_.data[rule.channel];
      if (rule.role == Rule::Role::send) {
        if (channel.sent == channel.received + channel_depth) return Progress::waits;
        const int place = channel.sent++ % channel_depth;
        clock = clock > channel.received_at[place] ? clock : channel.received_at[place];
        channel.messages[place] = {rule.position, action.micro_batch, clock};
      } else {
        if (channel.received == channel.sent) return Progress::waits;
        const int place = channel.received++ % channel_depth;
        const Channel::Message& message = channel.messages[place];
        if (message.position != rule.source || message.micro_batch != action.micro_batch)
          return Progress::message_order;
        clock = clock > message.sent_at ? clock : message.sent_at;
        channel.received_at[place] = clock;
      }
    }
    done |= kind;
    return Progress::done;
  }

  const ScheduleTable& table_;
  ConstexprArray<int> next_;          // action, by rank
  ConstexprArray<double> clock_;      // by rank
  ConstexprArray<ActionSet> done_;    // by position and micro-batch
  ConstexprArray<Rule> rules_;        // by rank, virtual stage and kind
  ConstexprArray<Channel> channels_;  // by first boundary; activations, gradients
  Execution result_{};
};

}  // namespace detail

/// Executes a table whose work has been checked (`check_work`): each channel carries the messages of one kind
/// from one rank to another in order, with at most `channel_depth` under way, and each action runs as soon as
/// the actions before it and its messages allow. Finds `dependency`, `message_order` and `deadlock`. The
/// times do not depend on the order in which ranks are looked at, because every channel has one sender and
/// one receiver.
constexpr Execution execute(const ScheduleTable& table, const Durations& durations = {}) {
  return detail::Executor(table, durations).run();
}

}  // namespace triax
