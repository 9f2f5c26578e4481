// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Runs action tables with real numbers: a second opinion on the verifier that shares no code with it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <triax/schedule/action.hpp>
#include <triax/schedule/placement.hpp>

namespace triax::test {

/// A pipeline whose stages compute with whole numbers modulo 2^64, so that every value depends on the
/// micro-batch and on all stages it has passed, and every sum on the order of its terms. Messages are bare
/// numbers.
class Machine {
 public:
  using Rows = std::vector<std::vector<Action>>;

  Machine(int ranks, int micro_batches, int virtual_stages, Passes passes, Placement placement)
      : ranks_(ranks),
        micro_batches_(micro_batches),
        virtual_stages_(virtual_stages),
        passes_(passes),
        placement_(placement) {}

  /// Whether the rows, run in an arbitrary interleaving chosen by `seed`, yield what one rank computes in
  /// order. `with_slots`: activations are kept in the slots that the actions name, else apart for each piece
  /// of work.
  bool trains(const Rows& rows, unsigned seed, bool with_slots) {
    Run run;
    std::mt19937 random(seed);
    std::vector<std::size_t> next(rows.size());
    std::vector<std::size_t> able(rows.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) able[rank] = rank;
    while (!able.empty()) {
      const std::size_t pick = random() % able.size(), rank = able[pick];
      if (next[rank] < rows[rank].size()) {
        const Outcome outcome = perform(run, static_cast<int>(rank), rows[rank][next[rank]], with_slots);
        if (outcome == Outcome::wrong) return false;
        if (outcome == Outcome::done) {
          ++next[rank];
          able.resize(rows.size());
          for (std::size_t i = 0; i < rows.size(); ++i) able[i] = i;
          continue;
        }
      }
      able.erase(able.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    for (std::size_t rank = 0; rank < rows.size(); ++rank)
      if (next[rank] < rows[rank].size()) return false;
    for (const auto& [key, messages] : run.channels)
      if (!messages.empty()) return false;
    return run.work == reference();
  }

 private:
  using Number = std::uint64_t;
  enum class Outcome { done, waits, wrong };
  // Per position: how often each pass ran, and order-dependent sums of outputs, input gradients and weight
  // gradients.
  struct Work {
    int forwards = 0, backwards = 0, weights = 0;
    Number outputs = 0, input_gradients = 0, weight_gradients = 0;
    bool operator==(const Work&) const = default;
  };
  struct Kept {
    Number input = 0, gradient = 0;
  };
  using Piece = std::pair<int, int>;  // position, micro-batch
  struct Run {
    std::map<std::tuple<bool, int, int>, std::deque<Number>> channels;  // is activation, from, to
    std::map<Piece, Number> inputs, outputs, output_gradients, input_gradients;
    std::map<std::tuple<int, int, int>, Kept> kept;  // rank and slot, or position and micro-batch
    std::map<int, Work> work;                        // by position
  };

  static Number input(int micro_batch) { return static_cast<Number>(micro_batch) * 977 + 5; }
  static Number forward(int position, Number x) { return x * 31 + static_cast<Number>(position) + 7; }
  static Number loss_gradient(Number y) { return y * 17 + 3; }
  static Number backward(Number x, Number dy) { return dy * 13 + x; }
  static void add(Number& sum, Number term) { sum = sum * 1000003 + term; }

  std::map<int, Work> reference() const {
    const int positions = ranks_ * virtual_stages_;
    std::map<int, Work> work;
    for (int i = 0; i < micro_batches_; ++i) {
      std::vector<Number> x{input(i)};
      for (int p = 0; p < positions; ++p) {
        x.push_back(forward(p, x.back()));
        add(work[p].outputs, x.back());
        ++work[p].forwards;
      }
      if (passes_ == Passes::forward) continue;
      Number gradient = loss_gradient(x.back());
      for (int p = positions - 1; p >= 0; --p) {
        const Number at = x[static_cast<std::size_t>(p)];
        add(work[p].weight_gradients, at ^ gradient);
        gradient = backward(at, gradient);
        add(work[p].input_gradients, gradient);
        ++work[p].backwards;
        ++work[p].weights;
      }
    }
    return work;
  }

  // The rank that holds a position, found by search.
  int holder(int position) const {
    for (int rank = 0; rank < ranks_; ++rank)
      for (int stage = 0; stage < virtual_stages_; ++stage)
        if (placement_(rank, stage, ranks_) == position) return rank;
    return -1;
  }

  static std::optional<Number> look_up(const std::map<Piece, Number>& values, int position, int micro_batch) {
    const auto found = values.find({position, micro_batch});
    return found == values.end() ? std::nullopt : std::optional<Number>(found->second);
  }

  Outcome send(Run& run, bool activation, int from, int to, std::optional<Number> value) const {
    if (!value || to < 0 || to == from) return Outcome::wrong;
    auto& messages = run.channels[{activation, from, to}];
    if (messages.size() == 2) return Outcome::waits;
    messages.push_back(*value);
    return Outcome::done;
  }
  Outcome receive(Run& run, bool activation, int from, int to, std::map<Piece, Number>& values,
                  Piece piece) const {
    if (from < 0 || from == to) return Outcome::wrong;
    auto& messages = run.channels[{activation, from, to}];
    if (messages.empty()) return Outcome::waits;
    values[piece] = messages.front();
    messages.pop_front();
    return Outcome::done;
  }

  Outcome perform(Run& run, int rank, const Action& action, bool with_slots) const {
    const int position = placement_(rank, action.virtual_stage, ranks_), i = action.micro_batch;
    const int before = holder(position - 1), after = holder(position + 1), end = ranks_ * virtual_stages_;
    Work& work = run.work[position];
    Kept& kept = with_slots ? run.kept[{-1, rank, action.slot}] : run.kept[{position, i, 0}];
    switch (action.what) {
      case Do::receive_activation:
        return receive(run, true, before, rank, run.inputs, {position, i});
      case Do::receive_gradient:
        return receive(run, false, after, rank, run.output_gradients, {position, i});
      case Do::send_activation:
        return send(run, true, rank, after, look_up(run.outputs, position, i));
      case Do::send_gradient:
        return send(run, false, rank, before, look_up(run.input_gradients, position, i));
      case Do::forward: {
        const bool in_place = before == rank;
        const auto x = position == 0 ? std::optional<Number>(input(i))
                       : in_place    ? look_up(run.outputs, position - 1, i)
                                     : look_up(run.inputs, position, i);
        if (!x) return Outcome::wrong;
        kept.input = *x;
        run.outputs[{position, i}] = forward(position, *x);
        add(work.outputs, forward(position, *x));
        ++work.forwards;
        return Outcome::done;
      }
      case Do::backward: {
        const bool in_place = after == rank;
        const auto y = look_up(run.outputs, position, i);
        if (!y || passes_ == Passes::forward) return Outcome::wrong;
        const auto dy = position == end - 1 ? std::optional<Number>(loss_gradient(*y))
                        : in_place          ? look_up(run.input_gradients, position + 1, i)
                                            : look_up(run.output_gradients, position, i);
        if (!dy) return Outcome::wrong;
        kept.gradient = *dy;
        run.input_gradients[{position, i}] = backward(kept.input, *dy);
        add(work.input_gradients, backward(kept.input, *dy));
        ++work.backwards;
        if (passes_ == Passes::forward_backward) add_weights(work, kept);
        return Outcome::done;
      }
      case Do::backward_weight:
        if (passes_ != Passes::forward_backward_weight || !look_up(run.input_gradients, position, i))
          return Outcome::wrong;
        add_weights(work, kept);
        return Outcome::done;
    }
    return Outcome::wrong;
  }
  static void add_weights(Work& work, const Kept& kept) {
    add(work.weight_gradients, kept.input ^ kept.gradient);
    ++work.weights;
  }

  int ranks_, micro_batches_, virtual_stages_;
  Passes passes_;
  Placement placement_;
};

}  // namespace triax::test
