// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A decorator that counts what goes through a communicator.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <triax/comm/block.hpp>
#include <triax/comm/communicator.hpp>
#include <triax/comm/ledger.hpp>

namespace triax {

/// A communicator that passes every operation on to `Inner` and counts it. It models the concepts that
/// `Inner` models.
///
/// Bytes are the *volume* of the call on this rank: what must leave it at the optimum, whatever the
/// algorithm. For a buffer of n elements over d ranks, in blocks that differ by at most one element (b is
/// this rank's):
///
///   reduce_scatter  n - b        all_gather  (d - 1) b      all_reduce  n - b + (d - 1) b
///   all_to_all      n - b        broadcast   n, from the root only               send  n
///
/// Every call of a collective is one message on each rank, except that a broadcast counts on its root alone
/// and a recv nowhere. Groups of one rank count nothing. Copies share a ledger; a communicator that is split
/// off has its own.
template <Communicator Inner>
class Traced {
 public:
  using device = typename Inner::device;

  explicit Traced(Inner inner) : inner_(std::move(inner)) {}

  int rank() const noexcept { return inner_.rank(); }
  int size() const noexcept { return inner_.size(); }

  const Ledger& ledger() const noexcept { return *ledger_; }
  void reset() noexcept { ledger_->reset(); }
  Inner& inner() noexcept { return inner_; }

  Traced split(int color, int key)
    requires Splits<Inner>
  {
    return Traced(inner_.split(color, key));
  }

  template <class T, class Op = Sum, class Ordering = Order::rank>
  auto all_reduce(std::span<T> in_place, Op op = {}, Ordering order = {})
    requires requires(Inner& inner) { inner.all_reduce(in_place, op, order); }
  {
    auto request = inner_.all_reduce(in_place, op, order);
    const std::size_t n = in_place.size(), b = block_size(n, size(), rank());
    count<T>(Operation::all_reduce, n - b + others() * b);
    return request;
  }

  template <class T, class Op = Sum, class Ordering = Order::rank>
  auto reduce_scatter(std::type_identity_t<std::span<const T>> full, std::span<T> own, Op op = {},
                      Ordering order = {})
    requires requires(Inner& inner) { inner.reduce_scatter(full, own, op, order); }
  {
    auto request = inner_.reduce_scatter(full, own, op, order);
    count<T>(Operation::reduce_scatter, full.size() - own.size());
    return request;
  }

  template <class T>
  auto all_gather(std::type_identity_t<std::span<const T>> own, std::span<T> full)
    requires requires(Inner& inner) { inner.all_gather(own, full); }
  {
    auto request = inner_.all_gather(own, full);
    count<T>(Operation::all_gather, others() * own.size());
    return request;
  }

  template <class T>
  auto broadcast(std::span<T> data, int root)
    requires requires(Inner& inner) { inner.broadcast(data, root); }
  {
    auto request = inner_.broadcast(data, root);
    if (rank() == root) count<T>(Operation::broadcast, data.size());
    return request;
  }

  template <class T>
  auto all_to_all(std::type_identity_t<std::span<const T>> in, std::span<T> out)
    requires requires(Inner& inner) { inner.all_to_all(in, out); }
  {
    auto request = inner_.all_to_all(in, out);
    count<T>(Operation::all_to_all, in.size() - in.size() / static_cast<std::size_t>(size()));
    return request;
  }

  template <class T>
  auto send(std::span<T> data, int to)
    requires requires(Inner& inner) { inner.send(data, to); }
  {
    auto request = inner_.send(data, to);
    count<T>(Operation::send, data.size());
    return request;
  }

  template <class T>
  auto recv(std::span<T> data, int from)
    requires requires(Inner& inner) { inner.recv(data, from); }
  {
    return inner_.recv(data, from);
  }

  auto barrier()
    requires HasBarrier<Inner>
  {
    auto request = inner_.barrier();
    count<std::byte>(Operation::barrier, 0);
    return request;
  }

 private:
  std::size_t others() const noexcept { return static_cast<std::size_t>(size() - 1); }

  template <class T>
  void count(Operation operation, std::size_t elements) noexcept {
    if (size() > 1) ledger_->add(operation, std::uint64_t{elements} * sizeof(T));
  }

  Inner inner_;
  std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
};

}  // namespace triax
