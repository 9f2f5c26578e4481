// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/progress.hpp>
#include <triax/comm/threads.hpp>

#include "conformance/message_of.hpp"

using namespace triax;
using namespace std::chrono_literals;
using test::message_of;

namespace {

bool contains(const std::string& text, const std::string& part) {
  INFO("in: ", text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

struct Sudden : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

TEST_CASE("run_threads gives each rank a thread and returns when all have ended") {
  std::atomic<int> ranks{0}, sizes{0};
  run_threads(5, [&](ThreadCommunicator world) {
    ranks += 1 << (4 * world.rank());
    sizes += world.size();
  });
  CHECK(ranks == 0x11111);
  CHECK(sizes == 25);
  CHECK(contains(message_of<ConfigError>([] { run_threads(0, [](ThreadCommunicator) {}); }),
                 "at least 1 rank, but 0"));
}

TEST_CASE("a rank that throws ends the waits of all others, and its exception reaches the caller") {
  std::array<std::string, 4> seen;
  const std::string thrown = message_of<Sudden>([&] {
    run_threads(4, [&](ThreadCommunicator world) {
      ThreadCommunicator pair = world.split(world.rank() / 2, 0);
      std::vector<float> x(1000);
      if (world.rank() == 2) throw Sudden("the disk is full");
      seen[static_cast<std::size_t>(world.rank())] = message_of<CommunicatorError>([&] {
        if (world.rank() == 0) world.all_reduce(std::span<float>(x)).wait();
        if (world.rank() == 1) world.recv(std::span<float>(x), 0).wait();  // of a rank that waits itself
        if (world.rank() == 3) pair.barrier().wait();                      // of a group with the culprit
      });
    });
  });
  CHECK(thrown == "the disk is full");
  for (const int rank : {0, 1, 3}) {
    CHECK(contains(seen[static_cast<std::size_t>(rank)], "rank 2 failed: the disk is full"));
    CHECK(contains(seen[static_cast<std::size_t>(rank)], "on rank " + std::to_string(rank)));
  }
}

TEST_CASE("the first exception wins over those that it causes") {
  CHECK_THROWS_AS(run_threads(3,
                              [](ThreadCommunicator world) {
                                if (world.rank() == 1) throw Sudden("first");
                                world.barrier().wait();
                              }),
                  Sudden);
}

TEST_CASE("an exception that passes pending requests leaves their buffers alone") {
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::atomic<bool> at_work{false};
    const std::string thrown = message_of<Sudden>([&] {
      run_threads(2, [&](ThreadCommunicator world) {
        std::vector<float> x(2000000, 1.0F);
        auto request = world.all_reduce(std::span<float>(x));
        if (world.rank() == 0) {
          while (!at_work) std::this_thread::yield();
          throw Sudden("on the way");  // the buffer dies while rank 1 is at work on it
        }
        at_work = true;
        request.wait();
      });
    });
    CHECK(thrown == "on the way");
  }
}

TEST_CASE("after an exception that the program catches itself, the world is of no use, and says so") {
  std::array<std::string, 2> seen;
  run_threads(2, [&](ThreadCommunicator world) {
    std::vector<float> x(10);
    if (world.rank() == 0) {
      try {
        auto request = world.recv(std::span<float>(x), 1);
        throw Sudden("caught below");
      } catch (const Sudden&) {
      }
      CHECK(Progress::of_this_thread().pending() == 0);
    }
    seen[static_cast<std::size_t>(world.rank())] =
        message_of<CommunicatorError>([&] { world.barrier().wait(); });
  });
  CHECK(contains(seen[0], "an exception ended its recv 1 of 10 fp32 elements from rank 1"));
  CHECK(contains(seen[1], "rank 0 failed"));
}

TEST_CASE("a wait for a rank that has returned ends at once") {
  std::string seen;
  CHECK_THROWS_AS(run_threads(3,
                              [&](ThreadCommunicator world) {
                                if (world.rank() != 0) return;
                                float x = 0;
                                seen = message_of<CommunicatorError>(
                                    [&] { world.recv(std::span<float>(&x, 1), 2).wait(); });
                                world.barrier().wait();
                              }),
                  CommunicatorError);
  CHECK(contains(seen, "rank 2 failed: it returned before recv 1 of 1 fp32 elements from rank 2"));
}

TEST_CASE("O-40: ranks that call different operations are told both") {
  const auto messages = [](auto&& f) {
    std::array<std::string, 2> seen;
    run_threads(2, [&](ThreadCommunicator world) {
      seen[static_cast<std::size_t>(world.rank())] = message_of<MismatchError>([&] { f(world); });
    });
    CHECK(seen[0] == seen[1]);
    return seen[0];
  };
  std::vector<float> x(20, 1.0F), y(24, 1.0F);
  CHECK(messages([&](ThreadCommunicator& world) {
          world.all_reduce(std::span<float>(world.rank() == 0 ? x : y)).wait();
        }) ==
        "call 1 of a group of 2: rank 0 called all_reduce of 20 fp32 elements (sum), rank 1 called "
        "all_reduce of "
        "24 fp32 elements (sum)");
  CHECK(x == std::vector<float>(20, 1.0F));
  CHECK(y == std::vector<float>(24, 1.0F));
  CHECK(contains(
      messages([&](ThreadCommunicator& world) {
        world.barrier().wait();
        if (world.rank() == 0) world.all_reduce(std::span<float>(x), Max{}).wait();
        if (world.rank() == 1) world.barrier().wait();
      }),
      "call 2 of a group of 2: rank 0 called all_reduce of 20 fp32 elements (max), rank 1 called barrier"));
  CHECK(contains(
      messages([&](ThreadCommunicator& world) { world.broadcast(std::span<float>(x), world.rank()).wait(); }),
      "rank 1 called broadcast of 20 fp32 elements from rank 1 of the group"));
  std::vector<double> z(5);
  CHECK(contains(messages([&](ThreadCommunicator& world) {
                   if (world.rank() == 0) world.send(std::span<double>(z), 1).wait();
                   if (world.rank() == 1) world.recv(std::span<float>(x).first(5), 0).wait();
                 }),
                 "recv 1 of 5 fp32 elements from rank 0 on rank 1 found 5 fp64 elements"));
}

TEST_CASE("O-42: a deadline names the operation and the ranks that are missing") {
  std::array<std::string, 4> seen;
  std::atomic<bool> others_ended{false};
  const auto start = std::chrono::steady_clock::now();
  const std::string thrown = message_of<TimeoutError>([&] {
    run_threads(4, [&](ThreadCommunicator world) {
      world.set_deadline(300ms);
      for (int k = 0; k < 6; ++k) world.barrier().wait();
      if (world.rank() == 2) {
        while (!others_ended) std::this_thread::sleep_for(1ms);
        return;
      }
      seen[static_cast<std::size_t>(world.rank())] =
          message_of<TimeoutError>([&] { world.barrier().wait(); });
      if (world.rank() == 0) {
        others_ended = true;
        world.barrier().wait();
      }
    });
  });
  CHECK(contains(thrown, "missing: rank 2"));
  for (const int rank : {0, 1, 3}) {
    CHECK(contains(seen[static_cast<std::size_t>(rank)], "barrier, call 7, on rank "));
    CHECK(contains(seen[static_cast<std::size_t>(rank)], " made no progress for 300 ms; missing: rank 2"));
  }
  CHECK(std::chrono::steady_clock::now() - start >= 300ms);

  run_threads(2, [](ThreadCommunicator world) {  // the second half: a longer section with a longer deadline
    world.set_deadline(100ms);
    world.barrier().wait();
    world.set_deadline(10s);
    if (world.rank() == 0) std::this_thread::sleep_for(300ms);
    CHECK_NOTHROW(world.barrier().wait());
  });
}

TEST_CASE("a failed operation keeps its error for its own request") {
  std::array<std::string, 3> seen;
  run_threads(2, [&](ThreadCommunicator world) {
    std::vector<float> x(world.rank() == 0 ? 3 : 4);
    float token = 0;
    if (world.rank() == 0) {
      auto wrong = world.all_reduce(std::span<float>(x));
      auto barrier = world.barrier();
      world.send(std::span<float>(&token, 1), 1).wait();
      seen[0] = message_of<MismatchError>([&] { barrier.wait(); });  // advances the other one
      seen[1] = message_of<MismatchError>([&] { wrong.wait(); });
    } else {
      world.recv(std::span<float>(&token, 1), 0).wait();
      seen[2] = message_of<MismatchError>([&] { world.all_reduce(std::span<float>(x)).wait(); });
    }
  });
  CHECK(contains(seen[0], "rank 0 called all_reduce of 3"));
  CHECK(seen[1] == seen[0]);
  CHECK(seen[2] == seen[0]);
}

TEST_CASE("requests keep their communicator alive") {
  run_threads(2, [](ThreadCommunicator world) {
    float x = static_cast<float>(world.rank());
    Request request = world.split(0, 0).all_reduce(std::span<float>(&x, 1));
    request.wait();
    CHECK(x == 1.0F);
  });
}
