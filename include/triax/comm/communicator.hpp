// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the library asks of a communicator: one concept per operation, and composites named after the need.

#pragma once

#include <concepts>
#include <span>

#include <triax/comm/reduction.hpp>

namespace triax {

/// What an operation returns. `wait()` orders the result before the caller's later work, `test()` makes
/// progress and says whether the operation has completed. Waiting on any request progresses every outstanding
/// request of the calling rank, on all its communicators.
template <class R>
concept PendingRequest = std::movable<R> && !std::copyable<R> && requires(R& request) {
  request.wait();
  { request.test() } -> std::same_as<bool>;
};

// ---- Named parts: what a message about an unfit communicator says ----

template <class C>
concept HasRankAndSize = requires(const C& c) {
  { c.rank() } noexcept -> std::same_as<int>;
  { c.size() } noexcept -> std::same_as<int>;
};

template <class C>
concept NamesDevice = requires { typename C::device; };

/// `split(color, key)`, called by all ranks: those with equal colors (>= 0) form a group, ordered by key,
/// then by rank.
template <class C>
concept Splits = requires(C& c) {
  { c.split(0, 0) } -> std::same_as<C>;
};

/// `all_reduce(in_place, op, order)`: every rank gets the reduction of all ranks' buffers.
template <class C>
concept AllReduces = requires(C& c, std::span<float> in_place) {
  { c.all_reduce(in_place) } -> PendingRequest;
  { c.all_reduce(in_place, Max{}) } -> PendingRequest;
};

/// `reduce_scatter(full, own, op, order)`: rank r gets the reduction of all ranks' block r; `full` holds
/// `size()` blocks of `own.size()` elements. `own` may be the rank's block of `full`.
template <class C>
concept ReduceScatters = requires(C& c, std::span<const float> full, std::span<float> own) {
  { c.reduce_scatter(full, own) } -> PendingRequest;
};

/// `all_gather(own, full)`: every rank gets all ranks' blocks, in rank order. `own` may be the rank's block
/// of `full`.
template <class C>
concept AllGathers = requires(C& c, std::span<const float> own, std::span<float> full) {
  { c.all_gather(own, full) } -> PendingRequest;
};

/// `broadcast(data, root)`: every rank gets the root's buffer.
template <class C>
concept Broadcasts = requires(C& c, std::span<float> data) {
  { c.broadcast(data, 0) } -> PendingRequest;
};

/// `all_to_all(in, out)`: block q of rank r's `in` becomes block r of rank q's `out`. The buffers do not
/// overlap.
template <class C>
concept ExchangesAllToAll = requires(C& c, std::span<const float> in, std::span<float> out) {
  { c.all_to_all(in, out) } -> PendingRequest;
};

/// `send(data, to)`: completes when `data` may be overwritten. Messages between two ranks keep their order.
template <class C>
concept Sends = requires(C& c, std::span<const float> data) {
  { c.send(data, 0) } -> PendingRequest;
};

/// `recv(data, from)`: completes when `data` holds the next message of rank `from`, which has the same size.
template <class C>
concept Receives = requires(C& c, std::span<float> data) {
  { c.recv(data, 0) } -> PendingRequest;
};

/// `barrier()`: completes when every rank has called it.
template <class C>
concept HasBarrier = requires(C& c) {
  { c.barrier() } -> PendingRequest;
};

// ---- Composites ----

/// The base of all communicators: a rank of a group, whose buffers live on `device`. A communicator is a
/// handle; its copies are the same communicator. It belongs to the thread that made it.
template <class C>
concept Communicator = std::movable<C> && HasRankAndSize<C> && NamesDevice<C>;

/// What data parallelism needs.
template <class C>
concept GradientCommunicator = Communicator<C> && AllReduces<C>;

/// What sharded state needs.
template <class C>
concept ShardingCommunicator = Communicator<C> && ReduceScatters<C> && AllGathers<C>;

/// What a pipeline needs.
template <class C>
concept PipelineCommunicator = Communicator<C> && Sends<C> && Receives<C>;

/// What a Mesh needs of its world.
template <class C>
concept WorldCommunicator = Communicator<C> && std::copyable<C> && Splits<C>;

}  // namespace triax
