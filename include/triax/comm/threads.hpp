// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are threads of one process.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <triax/comm/arguments.hpp>
#include <triax/comm/communicator.hpp>
#include <triax/comm/concat.hpp>
#include <triax/comm/reason.hpp>
#include <triax/comm/request.hpp>
#include <triax/comm/thread_operation.hpp>
#include <triax/device/host.hpp>

namespace triax {

/// A rank of a group of threads, whose buffers all ranks can address. `run_threads` makes the world.
///
/// Nothing is copied on the way: reductions read the peers' buffers, receivers copy from the sender's. All
/// operations are asynchronous; in the long run none allocates. Both orders of reduction are the order of
/// ranks.
template <class Device>
  requires Device::directly_readable
class BasicThreadCommunicator {
 public:
  using device = Device;

  /// Rank `rank` of `group`, once per rank.
  BasicThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank)
      : member_(std::make_shared<Member>(std::move(group), rank)) {}

  int rank() const noexcept { return member_->rank; }
  int size() const noexcept { return member_->group->size(); }

  /// How long a wait may pass without any progress before it throws TimeoutError; for all ranks and groups of
  /// this world. Half an hour by default.
  void set_deadline(std::chrono::milliseconds deadline) noexcept { group().world().set_deadline(deadline); }

  BasicThreadCommunicator split(int color, int key);

  template <Communicable T, ReductionOp Op = Sum, ReductionOrder Ordering = Order::rank>
  Request all_reduce(std::span<T> in_place, Op = {}, Ordering = {}) {
    if (size() == 1) return {};
    CollectiveCall call = call_of<T>(Collective::all_reduce, in_place, in_place, in_place.size());
    call.reduce = &reduce_in_order<T, Op>;
    call.op = Op::name;
    return start(call);
  }

  template <Communicable T, ReductionOp Op = Sum, ReductionOrder Ordering = Order::rank>
  Request reduce_scatter(std::type_identity_t<std::span<const T>> full, std::span<T> own, Op = {},
                         Ordering = {}) {
    check_blocks<T>("reduce_scatter", self(), own, full);
    CollectiveCall call = call_of<T>(Collective::reduce_scatter, full, own, own.size());
    call.reduce = &reduce_in_order<T, Op>;
    call.op = Op::name;
    return start(call);
  }

  template <Communicable T>
  Request all_gather(std::type_identity_t<std::span<const T>> own, std::span<T> full) {
    check_blocks<T>("all_gather", self(), own, full);
    return start(call_of<T>(Collective::all_gather, own, full, own.size()));
  }

  template <Communicable T>
  Request broadcast(std::span<T> data, int root) {
    check_peer("broadcast", self(), root);
    if (size() == 1) return {};
    CollectiveCall call = call_of<T>(Collective::broadcast, data, data, data.size());
    call.root = root;
    return start(call);
  }

  template <Communicable T>
  Request all_to_all(std::type_identity_t<std::span<const T>> in, std::span<T> out) {
    check_exchange<T>(self(), in, out);
    return start(call_of<T>(Collective::all_to_all, in, out, in.size() / static_cast<std::size_t>(size())));
  }

  /// Completes when the receiver has copied `data`.
  template <class T>
    requires Communicable<std::remove_const_t<T>>
  Request send(std::span<T> data, int to) {
    check_peer("send", self(), to);
    ThreadSend& operation = member_->sends.take();
    const ThreadMessage message{std::as_bytes(data).data(), data.size(),
                                element_name<std::remove_const_t<T>>()};
    operation.begin(member_, member_->sends, to, member_->sent[static_cast<std::size_t>(to)]++, message);
    return Request(operation);
  }

  template <Communicable T>
  Request recv(std::span<T> data, int from) {
    check_peer("recv", self(), from);
    ThreadReceive& operation = member_->receives.take();
    const ThreadMessage expected{nullptr, data.size(), element_name<T>()};
    operation.begin(member_, member_->receives, from, member_->received[static_cast<std::size_t>(from)]++,
                    expected, std::as_writable_bytes(data));
    return Request(operation);
  }

  Request barrier() {
    if (size() == 1) return {};
    return start(CollectiveCall{});
  }

 private:
  /// What belongs to this rank alone; the copies of a communicator share it.
  struct Member : ThreadSeat {
    Member(std::shared_ptr<ThreadGroup> g, int r)
        : ThreadSeat{std::move(g), r},
          sent(static_cast<std::size_t>(group->size())),
          received(static_cast<std::size_t>(group->size())) {}

    std::uint64_t calls = 0;              // collectives so far: their number is where ranks meet
    std::vector<std::uint64_t> sent;      // messages so far, by receiver
    std::vector<std::uint64_t> received;  // and by sender
    OperationPool<ThreadCollective> collectives;
    OperationPool<ThreadSend> sends;
    OperationPool<ThreadReceive> receives;
  };

  GroupRank self() const noexcept { return {rank(), size()}; }
  ThreadGroup& group() const noexcept { return *member_->group; }

  template <class T>
  static CollectiveCall call_of(Collective kind, std::span<const T> in, std::span<T> out,
                                std::size_t elements) {
    CollectiveCall call;
    call.kind = kind;
    call.type = element_name<T>();
    call.element_bytes = sizeof(T);
    call.elements = elements;
    call.in = std::as_bytes(in).data();
    call.out = std::as_writable_bytes(out).data();
    return call;
  }

  Request start(const CollectiveCall& call) {
    ThreadCollective& operation = member_->collectives.take();
    operation.begin(member_, member_->collectives, member_->calls++, call);
    return Request(operation);
  }

  std::shared_ptr<Member> member_;
};

using ThreadCommunicator = BasicThreadCommunicator<Host>;

static_assert(GradientCommunicator<ThreadCommunicator> && ShardingCommunicator<ThreadCommunicator> &&
              PipelineCommunicator<ThreadCommunicator> && WorldCommunicator<ThreadCommunicator>);

/// Collective: ranks with equal colors (>= 0) form a group, ordered by key, then by rank.
template <class Device>
  requires Device::directly_readable
BasicThreadCommunicator<Device> BasicThreadCommunicator<Device>::split(int color, int key) {
  check_color(self(), color);
  const std::vector<std::int64_t> own{color, key};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(size()));
  all_gather(std::span(own), std::span(all)).wait();

  std::vector<std::pair<std::int64_t, int>> members;  // key and rank
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = 2 * static_cast<std::size_t>(peer);
    if (all[at] == color) members.emplace_back(all[at + 1], peer);
  }
  std::sort(members.begin(), members.end());

  const int first = members.front().second;
  if (rank() == first) {
    std::vector<int> world_ranks;
    for (const auto& member : members) world_ranks.push_back(group().world_rank(member.second));
    group().split_off(rank()) = std::make_shared<ThreadGroup>(group().shared_world(), std::move(world_ranks));
  }
  barrier().wait();
  std::shared_ptr<ThreadGroup> mine = group().split_off(first);
  barrier().wait();
  if (rank() == first) group().split_off(rank()).reset();

  const auto place = std::find(members.begin(), members.end(), std::pair<std::int64_t, int>(key, rank()));
  return {std::move(mine), static_cast<int>(place - members.begin())};
}

/// Calls `f(ThreadCommunicator world)` on `ranks` threads, one per rank, and returns when all have ended.
///
/// If a rank throws, the waits of the others end with a CommunicatorError that names it, and its exception is
/// thrown here once all have ended. `f` is shared by the threads. Throws ConfigError for fewer than one rank.
template <class F>
void run_threads(int ranks, F&& f) {
  if (ranks < 1) {
    throw ConfigError(detail::concat("run_threads needs at least 1 rank, but ", ranks, " were asked for"));
  }
  const auto world = std::make_shared<ThreadWorld>(ranks);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)] = rank;
  const auto group = std::make_shared<ThreadGroup>(world, std::move(all));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));

  const auto run = [&](int rank) {
    Progress::of_this_thread().listen_to(&world->bell(rank));
    try {
      f(ThreadCommunicator(group, rank));
      world->leave(rank);
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      errors[static_cast<std::size_t>(rank)] = error;
      world->fail(rank, ThreadWorld::Cause::exception, reason_of(error));
    }
    Progress::of_this_thread().listen_to(nullptr);
  };

  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  try {
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  } catch (...) {  // the system has no thread left for this rank: end the others
    const std::exception_ptr error = std::current_exception();
    const auto rank = static_cast<int>(threads.size());
    errors[threads.size()] = error;
    world->fail(rank, ThreadWorld::Cause::exception, reason_of(error));
  }
  for (std::thread& thread : threads) thread.join();

  if (!world->failed()) return;
  const std::exception_ptr first = errors[static_cast<std::size_t>(world->culprit())];
  if (first) std::rethrow_exception(first);
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace triax
