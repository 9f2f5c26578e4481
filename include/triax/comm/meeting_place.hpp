// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where threads meet for a collective and share its work.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <triax/comm/collective_call.hpp>

namespace triax {

/// Where the ranks' calls with one number meet. When the last has arrived, the work is cut into portions, and
/// every rank that waits, for whatever it waits, does the next one: it reads all ranks' inputs and writes all
/// ranks' outputs. So a rank that computes meanwhile delays no one, and the result does not depend on who did
/// what.
class MeetingPlace {
 public:
  enum class Worked { nothing, a_portion, the_last_portion };

  MeetingPlace(int size, std::uint64_t first_number)
      : open_for_(first_number),
        arrivals_(static_cast<std::size_t>(size)),
        inputs_(arrivals_.size()),
        outputs_(arrivals_.size()) {}
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  bool is_open_for(std::uint64_t number) const noexcept {
    return open_for_.load(std::memory_order_acquire) == number;
  }

  /// Rank `rank` makes its call number `number`. The last to arrive gets true: it compares the calls and, if
  /// they agree, calls `open_work`.
  bool arrive(int rank, std::uint64_t number, const CollectiveCall& call) noexcept {
    const auto r = static_cast<std::size_t>(rank);
    arrivals_[r].call = call;
    inputs_[r] = call.in;
    outputs_[r] = call.out;
    arrivals_[r].number.store(number + 1, std::memory_order_release);
    return arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size();
  }
  bool has_arrived(int rank, std::uint64_t number) const noexcept {
    return arrivals_[static_cast<std::size_t>(rank)].number.load(std::memory_order_acquire) > number;
  }
  const CollectiveCall& call(int rank) const noexcept {
    return arrivals_[static_cast<std::size_t>(rank)].call;
  }

  /// Opens the work of call number `number` to all ranks. Returns whether there is any.
  bool open_work(std::uint64_t number) noexcept {
    elements_ = call(0).elements * blocks();
    portion_ = portion_bytes / call(0).element_bytes;
    portions_ = (elements_ + portion_ - 1) / portion_;
    work_is_open_for_.store(number + 1, std::memory_order_release);
    return portions_ != 0;
  }
  bool work_is_open_for(std::uint64_t number) const noexcept {
    return work_is_open_for_.load(std::memory_order_acquire) == number + 1;
  }

  /// Does the next portion that no one has begun.
  Worked work() noexcept {
    if (next_.load(std::memory_order_relaxed) >= portions_) return Worked::nothing;
    const std::size_t portion = next_.fetch_add(1, std::memory_order_relaxed);
    if (portion >= portions_) return Worked::nothing;
    const std::size_t end = std::min(elements_, (portion + 1) * portion_);
    for (std::size_t begin = portion * portion_; begin < end;) {
      const std::size_t block = begin / call(0).elements, first = begin % call(0).elements;
      const std::size_t n = std::min(call(0).elements - first, end - begin);
      work_on(block, first, n);
      begin += n;
    }
    const bool last = done_.fetch_add(1, std::memory_order_acq_rel) + 1 == portions_;
    return last ? Worked::the_last_portion : Worked::a_portion;
  }
  bool work_is_done() const noexcept { return done_.load(std::memory_order_acquire) == portions_; }

  /// This rank has seen that all is done. The last to leave opens the place for call number `next_number` and
  /// gets true.
  bool leave(std::uint64_t next_number) noexcept {
    if (left_.fetch_add(1, std::memory_order_acq_rel) + 1 < size()) return false;
    arrived_.store(0, std::memory_order_relaxed);
    left_.store(0, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    open_for_.store(next_number, std::memory_order_release);
    return true;
  }

 private:
  // Large enough to hide the price of taking a portion, small enough to stay in the second-level cache for 8
  // ranks.
  static constexpr std::size_t portion_bytes = 64 * 1024;

  struct alignas(64) Arrival {
    std::atomic<std::uint64_t> number{0};  // of the rank's latest call here, plus one
    CollectiveCall call;
  };

  int size() const noexcept { return static_cast<int>(arrivals_.size()); }

  /// How many blocks are to be worked on: one is one rank's, or the whole buffer, or one pair's.
  std::size_t blocks() const noexcept {
    switch (call(0).kind) {
      case Collective::all_reduce:
      case Collective::broadcast:
      case Collective::barrier:
        return 1;
      case Collective::reduce_scatter:
      case Collective::all_gather:
        return arrivals_.size();
      case Collective::all_to_all:
        return arrivals_.size() * arrivals_.size();
    }
    return 0;
  }

  /// Works on the elements [first, first + n) of a block.
  void work_on(std::size_t block, std::size_t first, std::size_t n) noexcept {
    const CollectiveCall& c = call(0);
    const std::size_t ranks = arrivals_.size(), block_bytes = c.elements * c.element_bytes;
    const std::size_t offset = first * c.element_bytes, bytes = n * c.element_bytes;
    switch (c.kind) {
      case Collective::all_reduce:
        return c.reduce({inputs_.data(), size(), first}, {outputs_.data(), size(), first}, n);
      case Collective::reduce_scatter:
        return c.reduce({inputs_.data(), size(), block * c.elements + first}, {&outputs_[block], 1, first},
                        n);
      case Collective::all_gather:
        for (std::byte* out : outputs_) {
          copy(inputs_[block] + offset, out + block * block_bytes + offset, bytes);
        }
        return;
      case Collective::broadcast:
        for (std::byte* out : outputs_) {
          copy(inputs_[static_cast<std::size_t>(c.root)] + offset, out + offset, bytes);
        }
        return;
      case Collective::all_to_all: {
        const std::size_t from = block / ranks, to = block % ranks;
        return copy(inputs_[from] + to * block_bytes + offset, outputs_[to] + from * block_bytes + offset,
                    bytes);
      }
      case Collective::barrier:
        return;
    }
  }

  static void copy(const std::byte* from, std::byte* to, std::size_t bytes) noexcept {
    if (from != to) std::memcpy(to, from, bytes);
  }

  std::atomic<std::uint64_t> open_for_;
  std::atomic<std::uint64_t> work_is_open_for_{0};  // number of the call, plus one
  std::vector<Arrival> arrivals_;
  std::vector<const std::byte*> inputs_;  // by rank, as the reductions want them
  std::vector<std::byte*> outputs_;
  std::size_t elements_ = 0, portion_ = 1, portions_ = 0;
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<int> left_{0};
  alignas(64) std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
};

}  // namespace triax
