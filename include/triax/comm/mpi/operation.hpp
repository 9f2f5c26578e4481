// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the operations over MPI have in common: rounds of messages, and how they fail.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <mpi.h>

#include <triax/comm/concat.hpp>
#include <triax/comm/mpi/link.hpp>
#include <triax/comm/operation_pool.hpp>
#include <triax/comm/progress.hpp>

namespace triax::mpi {

/// What an operation is called in messages.
struct Title {
  const char* name = "";
  const char* type = "";  ///< of the elements
  std::size_t element_bytes = 1;
  std::size_t elements = 0;
  std::uint64_t number = 0;  ///< of the call on its communicator, from 0
};

/// A state machine that goes through rounds: in each it posts messages, and when all have arrived comes the
/// next.
///
/// Collectives are made of messages of their own, with a tag per call, because MPI demands that all ranks
/// begin its collectives in the same order, which later rounds of concurrent operations do not keep.
class Operation : public PendingOperation {
 protected:
  static constexpr int point_to_point_tag = 0;

  void open(std::shared_ptr<Link> link, const Title& title) {
    link_ = std::move(link);
    title_ = title;
    requests_.clear();
    messages_.clear();
  }
  /// Returns to `pool`, unless MPI still holds a buffer of this operation: then it, and its link, stay for
  /// good.
  template <class Self>
  static void close(Self& self, OperationPool<Self>& pool) noexcept {
    Operation& operation = self;
    if (std::any_of(operation.requests_.begin(), operation.requests_.end(),
                    [](MPI_Request request) { return request != MPI_REQUEST_NULL; })) {
      return;
    }
    const std::shared_ptr<Link> link = std::move(operation.link_);  // may be the last reference to the pool
    pool.give_back(self);
  }

  Link& link() const noexcept { return *link_; }
  int rank() const noexcept { return link_->rank(); }
  int size() const noexcept { return link_->size(); }
  const Title& title() const noexcept { return title_; }

  /// Uses what the last round has brought and posts the next one; false if there is none.
  virtual bool next_round() = 0;

  /// The tag of a collective's messages: calls that are under way at the same time have different ones.
  int tag() const noexcept { return 1 + static_cast<int>(title_.number % 32000); }

  void send(int to, int with_tag, const std::byte* data, std::size_t bytes) {
    cut(bytes, [&](std::size_t offset, int count) {
      check(MPI_Isend(data + offset, count, MPI_BYTE, to, with_tag, link().comm(), add({to, count, false})),
            "MPI_Isend");
    });
  }
  void receive(int from, int with_tag, std::byte* data, std::size_t bytes) {
    cut(bytes, [&](std::size_t offset, int count) {
      check(
          MPI_Irecv(data + offset, count, MPI_BYTE, from, with_tag, link().comm(), add({from, count, true})),
          "MPI_Irecv");
    });
  }
  /// Adds an operation of MPI's own that `post(offset, count, request)` begins, for each piece of a buffer.
  template <class Post>
  void post_native(std::size_t bytes, Post&& post) {
    cut(bytes, [&](std::size_t offset, int count) { post(offset, count, add({-1, count, false})); });
  }

 private:
  struct Message {
    int peer;
    int bytes;
    bool receives;
  };

  /// Calls `post(offset, bytes)` for pieces that MPI's counts can express; once for an empty buffer.
  template <class Post>
  void cut(std::size_t bytes, Post&& post) {
    // Pieces of whole elements, so that reductions can be cut as well.
    const std::size_t limit =
        std::max<std::size_t>(1, link().limits().message_bytes / title_.element_bytes) * title_.element_bytes;
    std::size_t offset = 0;
    do {
      const std::size_t piece = std::min(limit, bytes - offset);
      post(offset, static_cast<int>(piece));
      offset += piece;
    } while (offset < bytes);
  }

  MPI_Request* add(const Message& message) {
    messages_.push_back(message);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }

  bool advance() final {
    if (link().failed()) {
      throw CommunicatorError(
          detail::concat(describe(), " cannot complete: an earlier operation on this communicator failed"));
    }
    bool changed = false;
    while (all_have_arrived()) {
      requests_.clear();
      messages_.clear();
      changed = true;
      if (next_round()) continue;
      complete();
      return true;
    }
    return changed;
  }

  bool all_have_arrived() {
    if (requests_.empty()) return true;
    statuses_.resize(requests_.size());
    int all = 0;
    const int code =
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses_.data());
    if (code == MPI_SUCCESS && !all) return false;
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) check(code, "MPI_Testall");
    for (std::size_t i = 0; i < messages_.size(); ++i) check_arrival(i, code == MPI_ERR_IN_STATUS);
    return true;
  }

  void check_arrival(std::size_t i, bool has_error) {
    const Message& message = messages_[i];
    int error = MPI_SUCCESS, bytes = message.bytes;
    if (has_error) error = statuses_[i].MPI_ERROR;
    if (message.receives) MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes);
    const bool truncated = error != MPI_SUCCESS && error_class(error) == MPI_ERR_TRUNCATE;
    if (!truncated) check(error, title_.name);
    if (!truncated && bytes == message.bytes) return;
    link().fail();
    // A library may not say how much there was of a message that was too long.
    const std::string came = bytes == message.bytes ? "more" : std::to_string(elements_in(bytes));
    throw MismatchError(detail::concat(describe(), ": this rank expected ", elements_in(message.bytes),
                                       " elements from rank ", message.peer, ", which sent ", came));
  }

  static int error_class(int error) {
    int result = error;
    MPI_Error_class(error, &result);
    return result;
  }
  std::size_t elements_in(int bytes) const { return static_cast<std::size_t>(bytes) / title_.element_bytes; }

  /// For example "all_reduce of 1000 fp32 elements (call 3) on rank 1 of 4".
  std::string describe() const {
    return detail::concat(title_.name, " of ", title_.elements, " ", title_.type, " elements (call ",
                          title_.number + 1, ") on rank ", rank(), " of ", size());
  }

  std::chrono::milliseconds deadline() const final { return link().limits().deadline; }

  void expire() final {
    link().fail();
    std::vector<bool> missing(static_cast<std::size_t>(size()));
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      int done = 1;
      MPI_Status status;
      MPI_Request_get_status(requests_[i], &done, &status);
      if (!done && messages_[i].peer >= 0) missing[static_cast<std::size_t>(messages_[i].peer)] = true;
    }
    std::string names;
    for (int peer = 0; peer < size(); ++peer) {
      if (missing[static_cast<std::size_t>(peer)]) detail::append_item(names, ", ", std::to_string(peer));
    }
    throw TimeoutError(detail::concat(describe(), " made no progress for ", deadline().count(),
                                      " ms; missing: rank ", names.empty() ? "(unknown to MPI)" : names));
  }

  /// Withdraws what has not arrived. MPI must not write into buffers that are about to go; where it cannot be
  /// stopped, the operation is never used again.
  void abandon() noexcept final {
    link().fail();
    if (is_finalized()) return;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (messages_[i].receives && requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
    }
    int all = 0;
    for (int tries = 0; tries < 200 && !all; ++tries) {
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
      if (!all) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::shared_ptr<Link> link_;  // keeps the communicator alive while the operation is outstanding
  Title title_;
  std::vector<MPI_Request> requests_;  // of this round
  std::vector<Message> messages_;      // what they carry
  std::vector<MPI_Status> statuses_;
};

}  // namespace triax::mpi
