// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The communicator of a program with one rank.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <triax/comm/arguments.hpp>
#include <triax/comm/communicator.hpp>
#include <triax/comm/concat.hpp>
#include <triax/comm/operation_pool.hpp>
#include <triax/comm/request.hpp>
#include <triax/device/host.hpp>

namespace triax {

/// The messages of a rank to itself, matched in order.
class SelfChannel {
 public:
  enum class Kind { send, receive };

  /// One end of a message.
  class End final : public PendingOperation {
   public:
    void begin(std::shared_ptr<SelfChannel> channel, Kind kind, std::byte* data, std::size_t bytes) {
      kind_ = kind;
      data_ = data;
      bytes_ = bytes;
      posted_ = matched_ = false;
      later_ = nullptr;
      channel_ = std::move(channel);
    }

   private:
    friend SelfChannel;

    bool advance() override {
      if (!posted_) channel_->match_or_append(*this);
      posted_ = true;
      if (matched_) complete();
      return matched_;
    }
    void check_peers() override {
      throw CommunicatorError(detail::concat(
          kind_ == Kind::send ? "send" : "recv",
          " of rank 0 to itself: the other end has not been posted, and no other rank can do it"));
    }
    std::chrono::milliseconds deadline() const override { return std::chrono::milliseconds::max(); }
    void expire() override { throw TimeoutError("rank 0 waits for itself"); }
    void abandon() noexcept override { channel_->remove(*this); }
    void recycle() noexcept override {
      const auto channel = std::move(channel_);  // may be the last reference to the pool
      channel->pool_.give_back(*this);
    }

    std::shared_ptr<SelfChannel> channel_;
    Kind kind_ = Kind::send;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    bool posted_ = false, matched_ = false;
    End* later_ = nullptr;
  };

  /// Posts one end of a message; throws MismatchError if the other end has another size.
  static Request post(const std::shared_ptr<SelfChannel>& channel, Kind kind, std::byte* data,
                      std::size_t bytes) {
    End& end = channel->pool_.take();
    end.begin(channel, kind, data, bytes);
    return Request(end);
  }

 private:
  void match_or_append(End& end) {
    if (!first_ || first_->kind_ == end.kind_) {
      (first_ ? last_->later_ : first_) = &end;
      last_ = &end;
      return;
    }
    End& other = *first_;
    const End& from = end.kind_ == Kind::send ? end : other;
    const End& to = end.kind_ == Kind::send ? other : end;
    if (from.bytes_ != to.bytes_) {
      throw MismatchError(
          detail::concat("rank 0 sent itself ", from.bytes_, " bytes, but receives ", to.bytes_));
    }
    if (from.bytes_ != 0) std::memmove(to.data_, from.data_, from.bytes_);
    first_ = other.later_;
    end.matched_ = other.matched_ = true;
  }

  void remove(const End& end) noexcept {
    End* before = nullptr;
    for (End* e = first_; e; before = e, e = e->later_) {
      if (e != &end) continue;
      (before ? before->later_ : first_) = e->later_;
      if (last_ == e) last_ = before;
      return;
    }
  }

  OperationPool<End> pool_;
  End* first_ = nullptr;  // the unmatched ends, all of one kind
  End* last_ = nullptr;
};

/// A group of one rank: reductions leave their buffers as they are, and nothing waits. Models every concept.
class SelfCommunicator {
 public:
  using device = Host;

  int rank() const noexcept { return 0; }
  int size() const noexcept { return 1; }

  SelfCommunicator split(int color, int /*key*/) {
    check_color(self, color);
    return {};
  }

  template <Communicable T, ReductionOp Op = Sum, ReductionOrder Ordering = Order::rank>
  Request all_reduce(std::span<T> /*in_place*/, Op = {}, Ordering = {}) {
    return {};
  }

  template <Communicable T, ReductionOp Op = Sum, ReductionOrder Ordering = Order::rank>
  Request reduce_scatter(std::type_identity_t<std::span<const T>> full, std::span<T> own, Op = {},
                         Ordering = {}) {
    check_blocks<T>("reduce_scatter", self, own, full);
    return copy(full, own);
  }

  template <Communicable T>
  Request all_gather(std::type_identity_t<std::span<const T>> own, std::span<T> full) {
    check_blocks<T>("all_gather", self, own, full);
    return copy(own, full);
  }

  template <Communicable T>
  Request broadcast(std::span<T> /*data*/, int root) {
    check_peer("broadcast", self, root);
    return {};
  }

  template <Communicable T>
  Request all_to_all(std::type_identity_t<std::span<const T>> in, std::span<T> out) {
    check_exchange<T>(self, in, out);
    return copy(in, out);
  }

  template <class T>
    requires Communicable<std::remove_const_t<T>>
  Request send(std::span<T> data, int to) {
    check_peer("send", self, to);
    // A send only reads: the channel keeps one kind of pointer for both ends.
    return SelfChannel::post(channel_, SelfChannel::Kind::send,
                             const_cast<std::byte*>(std::as_bytes(data).data()), data.size_bytes());
  }

  template <Communicable T>
  Request recv(std::span<T> data, int from) {
    check_peer("recv", self, from);
    return SelfChannel::post(channel_, SelfChannel::Kind::receive, std::as_writable_bytes(data).data(),
                             data.size_bytes());
  }

  Request barrier() { return {}; }

 private:
  static constexpr GroupRank self{0, 1};

  template <class T>
  static Request copy(std::span<const T> from, std::span<T> to) {
    if (from.data() != to.data() && !to.empty()) std::memcpy(to.data(), from.data(), to.size_bytes());
    return {};
  }

  std::shared_ptr<SelfChannel> channel_ = std::make_shared<SelfChannel>();
};

static_assert(GradientCommunicator<SelfCommunicator> && ShardingCommunicator<SelfCommunicator> &&
              PipelineCommunicator<SelfCommunicator> && WorldCommunicator<SelfCommunicator>);

}  // namespace triax
