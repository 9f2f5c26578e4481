// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Reductions in the order of ranks, over messages.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <triax/comm/block.hpp>
#include <triax/comm/mpi/operation.hpp>
#include <triax/comm/reduction.hpp>

namespace triax::mpi {

/// all_reduce and reduce_scatter: each rank is sent all ranks' elements of its block, and adds them in their
/// order; for an all_reduce it then sends the sums to all. What leaves a rank is the optimum, as for a ring.
///
/// Large buffers go in pieces, so that the staging is bounded. It is kept for the next reduction.
class RankOrderReduction final : public Operation {
 public:
  /// In place on `data`.
  void begin_all_reduce(std::shared_ptr<Link> link, OperationPool<RankOrderReduction>& pool,
                        const Title& title, Reduction reduce, std::byte* data) {
    begin(std::move(link), pool, title, reduce, data, data, true);
    // A multiple of the number of ranks, so that the blocks of all pieces add up to the blocks of the buffer.
    const auto d = static_cast<std::size_t>(size());
    piece_limit_ = std::max<std::size_t>(1, this->link().limits().piece_bytes / title.element_bytes / d) * d;
  }
  /// `title.elements` is the size of a block.
  void begin_reduce_scatter(std::shared_ptr<Link> link, OperationPool<RankOrderReduction>& pool,
                            const Title& title, Reduction reduce, const std::byte* full, std::byte* own) {
    begin(std::move(link), pool, title, reduce, full, own, false);
    const auto d = static_cast<std::size_t>(size());
    piece_limit_ = std::max<std::size_t>(1, this->link().limits().piece_bytes / title.element_bytes / d);
  }

 private:
  enum class Round { scatter, reduce };

  /// A range of elements.
  struct Range {
    std::size_t first;
    std::size_t count;
  };

  void begin(std::shared_ptr<Link> link, OperationPool<RankOrderReduction>& pool, const Title& title,
             Reduction reduce, const std::byte* in, std::byte* out, bool gathers) {
    open(std::move(link), title);
    pool_ = &pool;
    reduce_ = reduce;
    in_ = in;
    out_ = out;
    gathers_ = gathers;
    first_ = piece_ = 0;
    round_ = Round::scatter;
  }

  bool next_round() override {
    if (round_ == Round::scatter) {
      first_ += piece_;
      if (first_ == title().elements) return false;
      piece_ = std::min(piece_limit_, title().elements - first_);
      scatter();
      round_ = Round::reduce;
    } else {
      reduce_own();
      if (gathers_) gather();
      round_ = Round::scatter;
    }
    return true;
  }

  /// The part of the present piece that rank `q` adds up, in `in_`.
  Range part_of(int q) const {
    if (!gathers_) return {static_cast<std::size_t>(q) * title().elements + first_, piece_};
    return {first_ + block_begin(piece_, size(), q), block_size(piece_, size(), q)};
  }
  std::size_t bytes(std::size_t elements) const { return elements * title().element_bytes; }

  void scatter() {
    const Range own = part_of(rank());
    staging_.resize(bytes(own.count) * static_cast<std::size_t>(size()));
    inputs_.resize(static_cast<std::size_t>(size()));
    for (int q = 0; q < size(); ++q) {
      std::byte* place = staging_.data() + bytes(own.count) * static_cast<std::size_t>(q);
      inputs_[static_cast<std::size_t>(q)] = q == rank() ? in_ + bytes(own.first) : place;
      if (q != rank() && own.count != 0) receive(q, tag(), place, bytes(own.count));
    }
    for_others([&](int q) {
      const Range part = part_of(q);
      if (part.count != 0) send(q, tag(), in_ + bytes(part.first), bytes(part.count));
    });
  }

  void reduce_own() {
    const Range own = part_of(rank());
    std::byte* sums = out_ + bytes(gathers_ ? own.first : first_);
    reduce_({inputs_.data(), size(), 0}, {&sums, 1, 0}, own.count);
  }

  void gather() {
    const Range own = part_of(rank());
    for_others([&](int q) {
      const Range part = part_of(q);
      if (part.count != 0) receive(q, tag(), out_ + bytes(part.first), bytes(part.count));
      if (own.count != 0) send(q, tag(), out_ + bytes(own.first), bytes(own.count));
    });
  }

  /// The other ranks, beginning after this one, so that not all send to the same rank at once.
  template <class F>
  void for_others(F&& f) {
    for (int distance = 1; distance < size(); ++distance) f((rank() + distance) % size());
  }

  void recycle() noexcept override { close(*this, *pool_); }

  OperationPool<RankOrderReduction>* pool_ = nullptr;
  Reduction reduce_ = nullptr;
  const std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
  bool gathers_ = false;
  std::size_t piece_limit_ = 1;        // elements of a block, or of the whole buffer of an all_reduce
  std::size_t first_ = 0, piece_ = 0;  // the present piece
  Round round_ = Round::scatter;
  std::vector<std::byte> staging_;        // the ranks' elements of this rank's part
  std::vector<const std::byte*> inputs_;  // where they are, by rank
};

}  // namespace triax::mpi
