// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/mpi.hpp>
#include <triax/comm/progress.hpp>

#include "conformance/message_of.hpp"
#include "conformance/mpi/world.hpp"

using namespace triax;
using test::message_of;

TEST_CASE("ranks that disagree on sizes are told both numbers and the rank") {
  test::on_first_mpi_ranks(2, [](MpiCommunicator& pair) {
    const int r = pair.rank();
    std::vector<float> x(r == 0 ? 20 : 24);
    const std::string reduction =
        message_of<MismatchError>([&] { pair.all_reduce(std::span<float>(x)).wait(); });
    CHECK(reduction.find(r == 0 ? "expected 10 elements from rank 1, which sent 12"
                                : "expected 12 elements from rank 0, which sent 10") != std::string::npos);
    // The ranks are out of step now: the communicator says so instead of hanging.
    CHECK(message_of<CommunicatorError>([&] { pair.barrier().wait(); }).find("an earlier operation") !=
          std::string::npos);
  });
  test::on_first_mpi_ranks(2, [](MpiCommunicator& pair) {
    std::vector<double> x(pair.rank() == 0 ? 5 : 8);
    if (pair.rank() == 0) {
      pair.send(std::span<double>(x), 1).wait();
    } else {
      const std::string text = message_of<MismatchError>([&] { pair.recv(std::span<double>(x), 0).wait(); });
      CHECK(text.find("expected 8 elements from rank 0, which sent 5") != std::string::npos);
    }
  });
}

TEST_CASE("a wait ends at its deadline and names the missing ranks") {
  test::on_first_mpi_ranks(2, [](MpiCommunicator& pair) {
    MpiCommunicator own = MpiCommunicator::duplicate(pair.native());
    own.set_deadline(std::chrono::milliseconds(200));
    if (own.rank() == 1) {
      float x = 0;
      const std::string text = message_of<TimeoutError>([&] { own.recv(std::span<float>(&x, 1), 0).wait(); });
      CHECK(text.find("recv of 1 fp32 elements (call 1) on rank 1 of 2") != std::string::npos);
      CHECK(text.find("missing: rank 0") != std::string::npos);
    }
    pair.barrier().wait();
  });
}

TEST_CASE("an exception that passes a pending request leaves no request behind") {
  test::on_first_mpi_ranks(2, [](MpiCommunicator& pair) {
    MpiCommunicator own = MpiCommunicator::duplicate(pair.native());
    try {
      std::vector<float> x(10);
      auto received = own.recv(std::span<float>(x), 1 - own.rank());
      throw std::runtime_error("on purpose");
    } catch (const std::runtime_error&) {
    }
    CHECK(Progress::of_this_thread().pending() == 0);
    CHECK_THROWS_AS(own.barrier().wait(), CommunicatorError);
    pair.barrier().wait();
  });
}

TEST_CASE("O-44: a second environment adopts MPI and leaves it alone") {
  test::on_mpi_ranks([](MpiCommunicator& world) {
    int argc = 0;
    char** argv = nullptr;
    {
      mpi::Environment second(argc, argv);
      second.world().barrier().wait();
      CHECK(second.world().size() == world.size());
    }
    CHECK_FALSE(mpi::is_finalized());
    world.barrier().wait();
    // A level above the one that the first has asked for cannot be had any more.
    const std::string text =
        message_of<CommunicatorError>([&] { mpi::Environment(argc, argv, MPI_THREAD_MULTIPLE); });
    CHECK(text.find("MPI_THREAD_MULTIPLE was requested") != std::string::npos);
  });
}

TEST_CASE("O-45: communicators are freed") {
  test::on_mpi_ranks([](MpiCommunicator& world) {
    for (int turn = 0; turn < 200; ++turn) {
      MpiCommunicator group = world.split(world.rank() % 2, 0);
      std::int32_t one = 1;
      group.all_reduce(std::span<std::int32_t>(&one, 1)).wait();
      CHECK(one == group.size());
    }
  });
}
