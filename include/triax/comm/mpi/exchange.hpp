// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The operations over MPI that only move data.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include <mpi.h>

#include <triax/comm/mpi/operation.hpp>

namespace triax::mpi {

/// One message to or from one rank.
class Transfer final : public Operation {
 public:
  void begin_send(std::shared_ptr<Link> link, OperationPool<Transfer>& pool, const Title& title, int to,
                  const std::byte* data) {
    begin(std::move(link), pool, title, to);
    from_ = data;
    into_ = nullptr;
    sends_ = true;
  }
  void begin_receive(std::shared_ptr<Link> link, OperationPool<Transfer>& pool, const Title& title, int from,
                     std::byte* data) {
    begin(std::move(link), pool, title, from);
    from_ = nullptr;
    into_ = data;
    sends_ = false;
  }

 private:
  void begin(std::shared_ptr<Link> link, OperationPool<Transfer>& pool, const Title& title, int peer) {
    open(std::move(link), title);
    pool_ = &pool;
    peer_ = peer;
    posted_ = false;
  }

  bool next_round() override {
    if (posted_) return false;
    posted_ = true;
    const std::size_t bytes = title().elements * title().element_bytes;
    if (sends_) {
      send(peer_, point_to_point_tag, from_, bytes);
    } else {
      receive(peer_, point_to_point_tag, into_, bytes);
    }
    return true;
  }
  void recycle() noexcept override { close(*this, *pool_); }

  OperationPool<Transfer>* pool_ = nullptr;
  int peer_ = 0;
  const std::byte* from_ = nullptr;
  std::byte* into_ = nullptr;
  bool sends_ = false;
  bool posted_ = false;
};

/// A block to and from every other rank: all_gather, all_to_all, and, with empty blocks, barrier.
class Exchange final : public Operation {
 public:
  /// Rank q is sent the block at `in + q * in_stride`; its block comes to `out + q * block_bytes`.
  void begin(std::shared_ptr<Link> link, OperationPool<Exchange>& pool, const Title& title,
             const std::byte* in, std::size_t in_stride, std::byte* out) {
    open(std::move(link), title);
    pool_ = &pool;
    in_ = in;
    in_stride_ = in_stride;
    out_ = out;
    posted_ = false;
  }

 private:
  bool next_round() override {
    if (posted_) return false;
    posted_ = true;
    const std::size_t bytes = title().elements * title().element_bytes;
    const auto self = static_cast<std::size_t>(rank());
    const std::byte* own = in_ + self * in_stride_;
    if (bytes != 0 && own != out_ + self * bytes) std::memcpy(out_ + self * bytes, own, bytes);
    for (int distance = 1; distance < size(); ++distance) {  // not all to the same rank at once
      const int to = (rank() + distance) % size(), from = (rank() + size() - distance) % size();
      receive(from, tag(), out_ + static_cast<std::size_t>(from) * bytes, bytes);
      send(to, tag(), in_ + static_cast<std::size_t>(to) * in_stride_, bytes);
    }
    return true;
  }
  void recycle() noexcept override { close(*this, *pool_); }

  OperationPool<Exchange>* pool_ = nullptr;
  const std::byte* in_ = nullptr;
  std::size_t in_stride_ = 0;
  std::byte* out_ = nullptr;
  bool posted_ = false;
};

/// A collective of MPI's own, begun when it is called, as MPI's rule on their order demands.
class Native final : public Operation {
 public:
  void begin_broadcast(std::shared_ptr<Link> link, OperationPool<Native>& pool, const Title& title,
                       std::byte* data, int root) {
    begin(std::move(link), pool, title, data);
    root_ = root;
    op_ = MPI_OP_NULL;
  }
  void begin_all_reduce(std::shared_ptr<Link> link, OperationPool<Native>& pool, const Title& title,
                        std::byte* data, MPI_Datatype type, MPI_Op op) {
    begin(std::move(link), pool, title, data);
    type_ = type;
    op_ = op;
  }

 private:
  void begin(std::shared_ptr<Link> link, OperationPool<Native>& pool, const Title& title, std::byte* data) {
    open(std::move(link), title);
    pool_ = &pool;
    data_ = data;
    posted_ = false;
  }

  bool next_round() override {
    if (posted_) return false;
    posted_ = true;
    const auto element_bytes = static_cast<int>(title().element_bytes);
    post_native(
        title().elements * title().element_bytes, [&](std::size_t offset, int bytes, MPI_Request* request) {
          if (op_ == MPI_OP_NULL) {
            check(MPI_Ibcast(data_ + offset, bytes, MPI_BYTE, root_, link().comm(), request), "MPI_Ibcast");
          } else {
            check(MPI_Iallreduce(MPI_IN_PLACE, data_ + offset, bytes / element_bytes, type_, op_,
                                 link().comm(), request),
                  "MPI_Iallreduce");
          }
        });
    return true;
  }
  void recycle() noexcept override { close(*this, *pool_); }

  OperationPool<Native>* pool_ = nullptr;
  std::byte* data_ = nullptr;
  int root_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
  MPI_Op op_ = MPI_OP_NULL;
  bool posted_ = false;
};

}  // namespace triax::mpi
