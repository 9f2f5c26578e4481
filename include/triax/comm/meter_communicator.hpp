// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The communicator that layers see on a metering device.

#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <triax/comm/arguments.hpp>
#include <triax/comm/communicator.hpp>
#include <triax/comm/ledger.hpp>
#include <triax/comm/request.hpp>
#include <triax/device/host.hpp>
#include <triax/device/meter.hpp>

namespace triax {

/// A rank of an imagined group: its operations touch no memory, are complete at once, and only count their
/// volume, as Traced defines it. A plain value: copies count apart.
///
/// The volumes are written here a second time, on purpose: what is planned with this class is checked by
/// Traced.
class MeterCommunicator {
 public:
  using device = Meter<Host>;

  MeterCommunicator() = default;
  MeterCommunicator(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  const Ledger& ledger() const noexcept { return ledger_; }
  void reset() noexcept { ledger_.reset(); }

  template <Communicable T, ReductionOp Op = Sum, ReductionOrder Ordering = Order::rank>
  Request all_reduce(std::span<T> in_place, Op = {}, Ordering = {}) {
    const std::size_t d = ranks(), n = in_place.size(), r = static_cast<std::size_t>(rank_);
    const std::size_t own = (n + d - 1 - r) / d;  // n / d, and one more on the first n % d ranks
    return note<T>(Operation::all_reduce, n + (d - 1) * own - own);
  }

  template <Communicable T, ReductionOp Op = Sum, ReductionOrder Ordering = Order::rank>
  Request reduce_scatter(std::type_identity_t<std::span<const T>> full, std::span<T> own, Op = {},
                         Ordering = {}) {
    check_block_sizes("reduce_scatter", {rank_, size_}, own.size(), full.size());
    return note<T>(Operation::reduce_scatter, own.size() * (ranks() - 1));
  }

  template <Communicable T>
  Request all_gather(std::type_identity_t<std::span<const T>> own, std::span<T> full) {
    check_block_sizes("all_gather", {rank_, size_}, own.size(), full.size());
    return note<T>(Operation::all_gather, full.size() - own.size());
  }

  template <Communicable T>
  Request broadcast(std::span<T> data, int root) {
    check_peer("broadcast", {rank_, size_}, root);
    return root == rank_ ? note<T>(Operation::broadcast, data.size()) : Request{};
  }

  template <Communicable T>
  Request all_to_all(std::type_identity_t<std::span<const T>> in, std::span<T> out) {
    check_exchange_sizes({rank_, size_}, in.size(), out.size());
    return note<T>(Operation::all_to_all, out.size() / ranks() * (ranks() - 1));
  }

  template <class T>
    requires Communicable<std::remove_const_t<T>>
  Request send(std::span<T> data, int to) {
    check_peer("send", {rank_, size_}, to);
    return note<T>(Operation::send, data.size());
  }

  template <Communicable T>
  Request recv(std::span<T> /*data*/, int from) {
    check_peer("recv", {rank_, size_}, from);
    return {};
  }

  Request barrier() { return note<std::byte>(Operation::barrier, 0); }

 private:
  std::size_t ranks() const noexcept { return static_cast<std::size_t>(size_); }

  template <class T>
  Request note(Operation operation, std::size_t elements) noexcept {
    if (size_ > 1) ledger_.add(operation, elements * sizeof(T));
    return {};
  }

  int rank_ = 0;
  int size_ = 1;
  Ledger ledger_;
};

static_assert(GradientCommunicator<MeterCommunicator> && ShardingCommunicator<MeterCommunicator> &&
              PipelineCommunicator<MeterCommunicator>);

}  // namespace triax
