// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are processes, over MPI.

#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <mpi.h>

#include <triax/comm/arguments.hpp>
#include <triax/comm/communicator.hpp>
#include <triax/comm/mpi/exchange.hpp>
#include <triax/comm/mpi/link.hpp>
#include <triax/comm/mpi/reduction.hpp>
#include <triax/comm/request.hpp>
#include <triax/device/host.hpp>

namespace triax {

/// The element types for which MPI has operations.
template <class T>
concept NativeToMpi = Communicable<T> && std::is_arithmetic_v<T>;

/// A rank of a group of processes. mpi::Environment makes the world.
///
/// All operations are asynchronous. Reductions are in the order of ranks and give the same bits as on any
/// other communicator; `Order::backend` is MPI_Iallreduce, for all_reduce and the types that MPI knows.
class MpiCommunicator {
 public:
  using device = Host;

  /// A communicator apart from `parent`, with the same ranks. Collective.
  static MpiCommunicator duplicate(MPI_Comm parent) {
    MPI_Comm comm = MPI_COMM_NULL;
    mpi::check(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
    return {comm, std::make_shared<mpi::Limits>()};
  }

  int rank() const noexcept { return member_->rank(); }
  int size() const noexcept { return member_->size(); }

  /// How long a wait may pass without any progress before it throws TimeoutError; for this world and all its
  /// groups. Half an hour by default.
  void set_deadline(std::chrono::milliseconds deadline) noexcept { member_->limits().deadline = deadline; }
  /// The largest message that is handed to MPI at once, in bytes; equal on all ranks. 1 GiB by default.
  void set_message_limit(std::size_t bytes) noexcept { member_->limits().message_bytes = bytes; }
  /// The part of a buffer that is reduced at a time, in bytes; equal on all ranks. 2 MiB by default.
  void set_piece_limit(std::size_t bytes) noexcept { member_->limits().piece_bytes = bytes; }

  /// The communicator below, for calls of MPI that do not concern messages of this one.
  MPI_Comm native() const noexcept { return member_->comm(); }

  /// Collective: ranks with equal colors (>= 0) form a group, ordered by key, then by rank.
  MpiCommunicator split(int color, int key) {
    check_color(self(), color);
    barrier().wait();  // MPI_Comm_split blocks: first let all ranks finish what others need to get here
    MPI_Comm comm = MPI_COMM_NULL;
    mpi::check(MPI_Comm_split(member_->comm(), color, key, &comm), "MPI_Comm_split");
    return {comm, member_->shared_limits()};
  }

  template <Communicable T, ReductionOp Op = Sum>
  Request all_reduce(std::span<T> in_place, Op = {}, Order::rank = {}) {
    if (size() == 1) return {};
    auto& operation = member_->reductions.take();
    operation.begin_all_reduce(member_, member_->reductions, call_of<T>("all_reduce", in_place.size()),
                               &reduce_in_order<T, Op>, std::as_writable_bytes(in_place).data());
    return Request(operation);
  }

  template <NativeToMpi T, ReductionOp Op = Sum>
  Request all_reduce(std::span<T> in_place, Op, Order::backend) {
    if (size() == 1) return {};
    auto& operation = member_->natives.take();
    operation.begin_all_reduce(member_, member_->natives, call_of<T>("all_reduce", in_place.size()),
                               std::as_writable_bytes(in_place).data(), type_of<T>(), op_of<Op>());
    return Request(operation);
  }

  template <Communicable T, ReductionOp Op = Sum>
  Request reduce_scatter(std::type_identity_t<std::span<const T>> full, std::span<T> own, Op = {},
                         Order::rank = {}) {
    check_blocks<T>("reduce_scatter", self(), own, full);
    auto& operation = member_->reductions.take();
    operation.begin_reduce_scatter(member_, member_->reductions, call_of<T>("reduce_scatter", own.size()),
                                   &reduce_in_order<T, Op>, std::as_bytes(full).data(),
                                   std::as_writable_bytes(own).data());
    return Request(operation);
  }

  template <Communicable T>
  Request all_gather(std::type_identity_t<std::span<const T>> own, std::span<T> full) {
    check_blocks<T>("all_gather", self(), own, full);
    return exchange(call_of<T>("all_gather", own.size()), std::as_bytes(own).data(), 0,
                    std::as_writable_bytes(full).data());
  }

  template <Communicable T>
  Request broadcast(std::span<T> data, int root) {
    check_peer("broadcast", self(), root);
    if (size() == 1) return {};
    auto& operation = member_->natives.take();
    operation.begin_broadcast(member_, member_->natives, call_of<T>("broadcast", data.size()),
                              std::as_writable_bytes(data).data(), root);
    return Request(operation);
  }

  template <Communicable T>
  Request all_to_all(std::type_identity_t<std::span<const T>> in, std::span<T> out) {
    check_exchange<T>(self(), in, out);
    const std::size_t block = in.size() / static_cast<std::size_t>(size());
    return exchange(call_of<T>("all_to_all", block), std::as_bytes(in).data(), block * sizeof(T),
                    std::as_writable_bytes(out).data());
  }

  /// Completes when `data` may be overwritten, which may be before it has been received.
  template <class T>
    requires Communicable<std::remove_const_t<T>>
  Request send(std::span<T> data, int to) {
    check_peer("send", self(), to);
    auto& operation = member_->transfers.take();
    operation.begin_send(member_, member_->transfers, title_of<std::remove_const_t<T>>("send", data.size()),
                         to, std::as_bytes(data).data());
    return Request(operation);
  }

  template <Communicable T>
  Request recv(std::span<T> data, int from) {
    check_peer("recv", self(), from);
    auto& operation = member_->transfers.take();
    operation.begin_receive(member_, member_->transfers, title_of<T>("recv", data.size()), from,
                            std::as_writable_bytes(data).data());
    return Request(operation);
  }

  Request barrier() {
    if (size() == 1) return {};
    return exchange(call_of<std::uint8_t>("barrier", 0), nullptr, 0, nullptr);
  }

 private:
  /// What belongs to this rank; the copies of a communicator share it.
  struct Member : mpi::Link {
    using Link::Link;

    std::uint64_t calls = 0;  // collectives so far, equal on all ranks: it tells their messages apart
    std::uint64_t messages = 0;
    OperationPool<mpi::Transfer> transfers;
    OperationPool<mpi::Exchange> exchanges;
    OperationPool<mpi::Native> natives;
    OperationPool<mpi::RankOrderReduction> reductions;
  };

  MpiCommunicator(MPI_Comm owned, std::shared_ptr<mpi::Limits> limits)
      : member_(std::make_shared<Member>(owned, std::move(limits))) {}

  GroupRank self() const noexcept { return {rank(), size()}; }

  template <class T>
  mpi::Title title_of(const char* name, std::size_t elements) {
    return {name, element_name<T>(), sizeof(T), elements, member_->messages++};
  }
  template <class T>
  mpi::Title call_of(const char* name, std::size_t elements) {
    return {name, element_name<T>(), sizeof(T), elements, member_->calls++};
  }

  Request exchange(const mpi::Title& title, const std::byte* in, std::size_t in_stride, std::byte* out) {
    auto& operation = member_->exchanges.take();
    operation.begin(member_, member_->exchanges, title, in, in_stride, out);
    return Request(operation);
  }

  template <NativeToMpi T>
  static MPI_Datatype type_of() {
    if constexpr (std::same_as<T, float>) return MPI_FLOAT;
    if constexpr (std::same_as<T, double>) return MPI_DOUBLE;
    if constexpr (std::same_as<T, std::int32_t>) return MPI_INT32_T;
    if constexpr (std::same_as<T, std::int64_t>) return MPI_INT64_T;
    return MPI_UINT8_T;
  }
  template <class Op>
  static MPI_Op op_of() {
    if constexpr (std::same_as<Op, Sum>) return MPI_SUM;
    if constexpr (std::same_as<Op, Min>) return MPI_MIN;
    return MPI_MAX;
  }

  std::shared_ptr<Member> member_;
};

static_assert(GradientCommunicator<MpiCommunicator> && ShardingCommunicator<MpiCommunicator> &&
              PipelineCommunicator<MpiCommunicator> && WorldCommunicator<MpiCommunicator>);

}  // namespace triax
