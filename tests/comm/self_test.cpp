// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/progress.hpp>
#include <triax/comm/self.hpp>

#include "conformance/message_of.hpp"

using namespace triax;
using test::message_of;

// ---- The concepts ----

namespace {

/// Lacks everything but the base.
struct Bare {
  using device = Host;
  int rank() const noexcept { return 0; }
  int size() const noexcept { return 1; }
};

/// Says that it reduces, but blocks.
struct Blocking : Bare {
  template <class T, class Op = Sum>
  void all_reduce(std::span<T>, Op = {}) {}
};

/// Has a rank that may throw.
struct Throwing {
  using device = Host;
  int rank() const { return 0; }
  int size() const { return 1; }
};

}  // namespace

static_assert(Communicator<Bare> && !GradientCommunicator<Bare> && !ShardingCommunicator<Bare>);
static_assert(!PipelineCommunicator<Bare> && !WorldCommunicator<Bare>);
static_assert(!AllReduces<Blocking>);
static_assert(!HasRankAndSize<Throwing> && !Communicator<Throwing>);
static_assert(PendingRequest<Request> && !PendingRequest<int>);
static_assert(std::is_nothrow_move_constructible_v<Request> && !std::is_copy_constructible_v<Request>);

// ---- Arguments ----

TEST_CASE("wrong sizes are told with both numbers and the rank, before anything moves") {
  SelfCommunicator self;
  std::vector<float> five(5), four(4);
  CHECK(message_of<ShapeError>(
            [&] { self.reduce_scatter(std::span<float>(five), std::span<float>(four)).wait(); }) ==
        "reduce_scatter on rank 0: the full buffer has 5 elements, but 1 ranks with blocks of 4 need 4");
  CHECK(message_of<ShapeError>([&] {
          self.all_gather(std::span<float>(five), std::span<float>(four)).wait();
        }) == "all_gather on rank 0: the full buffer has 4 elements, but 1 ranks with blocks of 5 need 5");
  CHECK(message_of<ShapeError>([&] {
          self.all_to_all(std::span<float>(five), std::span<float>(four)).wait();
        }) == "all_to_all on rank 0: the buffers have 5 and 4 elements");
  CHECK(message_of<CommunicatorError>([&] { self.send(std::span<float>(five), 1).wait(); }) ==
        "send on rank 0: there is no rank 1 in a group of 1");
  CHECK(message_of<CommunicatorError>([&] { self.broadcast(std::span<float>(five), -1).wait(); }) ==
        "broadcast on rank 0: there is no rank -1 in a group of 1");
  CHECK(message_of<CommunicatorError>([&] { self.split(-1, 0); }) ==
        "split on rank 0: a color is not negative, but -1 was given");
}

TEST_CASE("buffers may overlap only where an operation says so") {
  std::vector<float> x(8);
  const std::span<const float> full(x);
  CHECK_NOTHROW(check_blocks<float>("all_gather", {1, 2}, full.subspan(4), full));
  CHECK_THROWS_AS(check_blocks<float>("all_gather", {0, 2}, full.subspan(4), full), ShapeError);
  CHECK_THROWS_AS(check_exchange<float>({0, 2}, full.first(4), full.subspan(2, 4)), ShapeError);
  CHECK_THROWS_AS(check_exchange<float>({0, 2}, full.first(3), full.subspan(4, 3)), ShapeError);
  CHECK_NOTHROW(check_exchange<float>({0, 2}, full.first(4), full.subspan(4)));
  CHECK_NOTHROW(
      check_blocks<float>("all_gather", {0, 2}, std::span<const float>(), std::span<const float>()));
}

// ---- A single rank ----

TEST_CASE("a rank's messages to itself are matched in order") {
  SelfCommunicator self;
  float a = 1, b = 2, x = 0, y = 0;
  auto first = self.recv(std::span<float>(&x, 1), 0);
  auto second = self.recv(std::span<float>(&y, 1), 0);
  CHECK_FALSE(first.test());
  CHECK(Progress::of_this_thread().pending() == 2);
  self.send(std::span<float>(&a, 1), 0).wait();
  self.send(std::span<float>(&b, 1), 0).wait();
  second.wait();
  first.wait();
  CHECK(x == 1);
  CHECK(y == 2);
  CHECK(Progress::of_this_thread().pending() == 0);
}

TEST_CASE("a rank that waits for itself is told so instead of hanging") {
  SelfCommunicator self;
  float x[2] = {};
  CHECK(message_of<CommunicatorError>([&] { self.recv(std::span<float>(x), 0).wait(); }) ==
        "recv of rank 0 to itself: the other end has not been posted, and no other rank can do it");
  auto received = self.recv(std::span<float>(x), 0);
  CHECK(message_of<MismatchError>([&] { self.send(std::span<float>(x).first(1), 0).wait(); }) ==
        "rank 0 sent itself 4 bytes, but receives 8");
  self.send(std::span<const float>(x), 0).wait();  // neither of the failed calls has left a trace
  received.wait();
  CHECK(Progress::of_this_thread().pending() == 0);
}

TEST_CASE("a dropped request waits, and keeps an error to itself") {
  SelfCommunicator self;
  float a = 3, x = 0;
  {
    auto dropped = self.recv(std::span<float>(&x, 1), 0);
    auto sent = self.send(std::span<float>(&a, 1), 0);
  }
  CHECK(x == 3);
  { auto never = self.recv(std::span<float>(&x, 1), 0); }
  CHECK(Progress::of_this_thread().pending() == 0);
}
