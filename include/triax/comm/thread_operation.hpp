// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The operations of a rank that is a thread, as state machines.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <triax/comm/concat.hpp>
#include <triax/comm/operation_pool.hpp>
#include <triax/comm/progress.hpp>
#include <triax/comm/thread_group.hpp>

namespace triax {

/// One rank's part in a group.
struct ThreadSeat {
  std::shared_ptr<ThreadGroup> group;
  int rank = 0;
};

/// What all of them have in common: how they fail. In messages, ranks have their numbers in the world.
class ThreadOperation : public PendingOperation {
 protected:
  void sit(std::shared_ptr<const ThreadSeat> seat) { seat_ = std::move(seat); }
  std::shared_ptr<const ThreadSeat> rise() noexcept { return std::move(seat_); }

  int rank() const noexcept { return seat_->rank; }
  ThreadGroup& group() const noexcept { return *seat_->group; }
  ThreadWorld& world() const noexcept { return group().world(); }
  int world_rank() const noexcept { return group().world_rank(rank()); }

  /// The operation in words, with its number, which starts at 1.
  virtual std::string describe() const = 0;
  /// Whether the operation still waits for a rank of the group.
  virtual bool waits_for(int rank) const = 0;

  [[noreturn]] void raise() const { world().raise(world_rank(), describe()); }
  [[noreturn]] void mismatch(const std::string& reason) const {
    world().fail(world_rank(), ThreadWorld::Cause::mismatch, reason);
    raise();
  }

  std::chrono::milliseconds deadline() const final { return world().deadline(); }

  void check_peers() final {
    if (world().failed()) return;  // `advance` says so
    for (int peer = 0; peer < group().size(); ++peer) {
      // In this order: a peer that has left has done all that it will ever do.
      if (world().has_left(group().world_rank(peer)) && waits_for(peer)) {
        world().fail(group().world_rank(peer), ThreadWorld::Cause::exception,
                     detail::concat("it returned before ", describe()));
        raise();
      }
    }
  }

  void expire() final {
    std::string missing;
    for (int peer = 0; peer < group().size(); ++peer) {
      if (!waits_for(peer)) continue;
      detail::append_item(missing, ", ", std::to_string(group().world_rank(peer)));
    }
    world().fail(
        world_rank(), ThreadWorld::Cause::timeout,
        detail::concat(describe(), " on rank ", world_rank(), " made no progress for ", deadline().count(),
                       " ms; missing: rank ", missing.empty() ? "(none, all have come)" : missing));
    raise();
  }

  void abandon() noexcept final {
    world().fail(world_rank(), ThreadWorld::Cause::unwinding,
                 detail::concat("an exception ended its ", describe()));
    world().quiesce();
  }

 private:
  std::shared_ptr<const ThreadSeat> seat_;  // keeps the communicator alive while the operation is outstanding
};

/// A collective: enter the meeting place, work until all is done, leave.
class ThreadCollective final : public ThreadOperation {
 public:
  /// The call number `number` of this rank on its group. `pool` lives as long as `seat`.
  void begin(std::shared_ptr<const ThreadSeat> seat, OperationPool<ThreadCollective>& pool,
             std::uint64_t number, const CollectiveCall& call) {
    sit(std::move(seat));
    pool_ = &pool;
    number_ = number;
    call_ = call;
    place_ = &group().place(number);
    entered_ = false;
  }

 private:
  bool advance() override {
    bool changed = false;
    if (!entered_) {
      if (world().failed()) raise();
      if (!place_->is_open_for(number_)) return false;
      enter();
      changed = true;
    }
    if (place_->work_is_open_for(number_)) {
      changed |= work();
      if (place_->work_is_done()) {
        if (place_->leave(ThreadGroup::next_in_place(number_))) group().ring_others(rank());
        complete();
        return true;
      }
    }
    if (world().failed()) raise();
    return changed;
  }

  void enter() {
    entered_ = true;
    if (!place_->arrive(rank(), number_, call_)) return;
    for (int peer = 1; peer < group().size(); ++peer) {
      if (place_->call(peer).agrees_with(place_->call(0))) continue;
      mismatch(detail::concat("call ", number_ + 1, " of a group of ", group().size(), ": rank ",
                              group().world_rank(0), " called ", place_->call(0).describe(), ", rank ",
                              group().world_rank(peer), " called ", place_->call(peer).describe()));
    }
    place_->open_work(number_);
    group().ring_others(rank());
  }

  bool work() {
    auto worked = MeetingPlace::Worked::nothing;
    {
      ThreadWorld::Access access(world(), world_rank());
      if (access) worked = place_->work();
    }
    if (worked == MeetingPlace::Worked::the_last_portion) group().ring_others(rank());
    return worked != MeetingPlace::Worked::nothing;
  }

  std::string describe() const override {
    return detail::concat(call_.describe(), ", call ", number_ + 1, ",");
  }
  bool waits_for(int peer) const override { return !entered_ || !place_->has_arrived(peer, number_); }

  void recycle() noexcept override {
    const auto seat = rise();  // may hold the last reference to the pool
    pool_->give_back(*this);
  }

  OperationPool<ThreadCollective>* pool_ = nullptr;
  MeetingPlace* place_ = nullptr;
  std::uint64_t number_ = 0;
  CollectiveCall call_;
  bool entered_ = false;
};

/// Sends one message: lays it in the channel and waits until it has been copied.
class ThreadSend final : public ThreadOperation {
 public:
  void begin(std::shared_ptr<const ThreadSeat> seat, OperationPool<ThreadSend>& pool, int to,
             std::uint64_t number, const ThreadMessage& message) {
    sit(std::move(seat));
    pool_ = &pool;
    to_ = to;
    number_ = number;
    message_ = message;
    offered_ = false;
  }

 private:
  bool advance() override {
    ThreadChannel& channel = group().channel(rank(), to_);
    if (offered_ && channel.is_taken(number_)) {
      complete();
      return true;
    }
    if (world().failed()) raise();
    if (offered_ || !channel.offer(number_, message_)) return false;
    offered_ = true;
    group().ring(to_);
    return true;
  }

  std::string describe() const override {
    return detail::concat("send ", number_ + 1, " of ", message_.elements, " ", message_.type,
                          " elements to rank ", group().world_rank(to_));
  }
  bool waits_for(int peer) const override {
    return peer == to_ && !group().channel(rank(), to_).is_taken(number_);
  }

  void recycle() noexcept override {
    const auto seat = rise();
    pool_->give_back(*this);
  }

  OperationPool<ThreadSend>* pool_ = nullptr;
  int to_ = 0;
  std::uint64_t number_ = 0;
  ThreadMessage message_;
  bool offered_ = false;
};

/// Receives one message: copies it from the sender's buffer.
class ThreadReceive final : public ThreadOperation {
 public:
  void begin(std::shared_ptr<const ThreadSeat> seat, OperationPool<ThreadReceive>& pool, int from,
             std::uint64_t number, const ThreadMessage& expected, std::span<std::byte> into) {
    sit(std::move(seat));
    pool_ = &pool;
    from_ = from;
    number_ = number;
    expected_ = expected;
    into_ = into;
  }

 private:
  bool advance() override {
    ThreadChannel& channel = group().channel(from_, rank());
    const ThreadMessage* message = channel.find(number_);
    if (!message) {
      if (world().failed()) raise();
      return false;
    }
    if (message->elements != expected_.elements || std::strcmp(message->type, expected_.type) != 0) {
      mismatch(detail::concat(describe(), " on rank ", world_rank(), " found ", message->elements, " ",
                              message->type, " elements"));
    }
    if (!copy(*message)) raise();
    channel.take(number_);
    group().ring(from_);
    complete();
    return true;
  }

  bool copy(const ThreadMessage& message) {
    ThreadWorld::Access access(world(), world_rank());
    if (access && !into_.empty()) std::memcpy(into_.data(), message.data, into_.size());
    return static_cast<bool>(access);
  }

  std::string describe() const override {
    return detail::concat("recv ", number_ + 1, " of ", expected_.elements, " ", expected_.type,
                          " elements from rank ", group().world_rank(from_));
  }
  bool waits_for(int peer) const override {
    return peer == from_ && !group().channel(from_, rank()).find(number_);
  }

  void recycle() noexcept override {
    const auto seat = rise();
    pool_->give_back(*this);
  }

  OperationPool<ThreadReceive>* pool_ = nullptr;
  int from_ = 0;
  std::uint64_t number_ = 0;
  ThreadMessage expected_;
  std::span<std::byte> into_;
};

}  // namespace triax
