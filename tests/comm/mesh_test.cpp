// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/mesh.hpp>
#include <triax/comm/self.hpp>
#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>

#include "conformance/message_of.hpp"

using namespace triax;
using test::message_of;

static_assert(name(Axis::pp)[0] == 'p' && Axes({Axis::dp, Axis::cp}).contains(Axis::cp));
static_assert((Axes(Axis::dp) | Axes(Axis::cp)) == Axes({Axis::cp, Axis::dp}) && Axes().empty());

TEST_CASE("O-61: the product of the extents must be the size of the world") {
  // Before any communicator is made: the sentence is the same on every rank, and none waits for another.
  CHECK(message_of<ConfigError>([] { resolve({.dp = 2, .pp = 2, .tp = 2}, 6); }) ==
        "the mesh and its world differ in size: dp x tp x pp = 2x2x2=8 and 6 ranks are running; start 8 "
        "ranks or change "
        "an extent");
  CHECK(message_of<ConfigError>([] { resolve({.dp = 2, .tp = 2}, 8); }).find("2x2x1=4 and 8") !=
        std::string::npos);
  CHECK(message_of<ConfigError>([] {
          resolve({.dp = 2, .cp = 3, .ep = 2}, 8);
        }).find("dp x tp x pp x cp x ep = 2x1x1x3x2=12 and 8") != std::string::npos);
  CHECK(resolve({.dp = automatic, .tp = 3}, 6) == Extents{.dp = 2, .tp = 3});
  CHECK(resolve({.pp = automatic}, 1) == Extents{});

  run_threads(6, [](ThreadCommunicator world) {
    const std::string text = message_of<ConfigError>([&] { Mesh(world, {.dp = 2, .pp = 2, .tp = 2}); });
    CHECK(text.find("2x2x2=8 and 6") != std::string::npos);
    if (world.rank() == 3) {
      CHECK_THROWS_AS(Mesh(world, {.dp = 5}), ConfigError);  // by one rank alone: nothing was collective
    }
    Mesh mesh(world, {.dp = automatic, .tp = 3});
    CHECK(mesh.extents() == Extents{.dp = 2, .tp = 3});
  });
}

TEST_CASE("extents that cannot be are named") {
  CHECK(message_of<ConfigError>([] { resolve({.dp = automatic, .tp = 4}, 6); }) ==
        "the mesh's extent dp is automatic, but 6 ranks cannot be divided by tp x pp = 4x1=4");
  CHECK(message_of<ConfigError>([] { resolve({.dp = automatic, .pp = automatic}, 6); }) ==
        "one extent of a mesh may be automatic, but dp and pp are");
  CHECK(message_of<ConfigError>([] { resolve({.pp = 0}, 6); }) ==
        "the mesh's extent pp is 0; it must be at least 1");
  CHECK(message_of<ConfigError>([] { resolve({.pp = -2}, 6); }) ==
        "the mesh's extent pp is -2; it must be at least 1");
  CHECK(message_of<ConfigError>([] {
          complete(Extents{.dp = 2, .pp = dynamic}, Extents{.dp = 4, .pp = 2});
        }) == "the mesh's extent dp is fixed as 2 in its type, but 4 was given");
}

TEST_CASE("extents are values, types, or both") {
  SelfCommunicator self;
  Mesh values(self, {.dp = 1});
  Mesh fixed(self, extents<Extents{}>);
  Mesh both(self, extents<Extents{.dp = dynamic, .pp = 1}>, {.dp = automatic});
  static_assert(decltype(values)::fixed == run_time_extents);
  static_assert(decltype(fixed)::fixed == Extents{});
  static_assert(decltype(both)::fixed == Extents{.dp = dynamic});
  static_assert(std::is_same_v<decltype(both)::communicator, SelfCommunicator>);
  using OneDynamic = Mesh<SelfCommunicator, Extents{.dp = dynamic}>;
  static_assert(!std::is_constructible_v<OneDynamic, SelfCommunicator, FixedExtents<Extents{.dp = dynamic}>>);
  CHECK(both.extents() == Extents{});
  CHECK_THROWS_AS(Mesh(self, extents<Extents{.dp = 2}>), ConfigError);
}

TEST_CASE("ranks are numbered with tp fastest, then cp, ep, dp, and pp slowest") {
  run_threads(12, [](ThreadCommunicator world) {
    Mesh mesh(world, {.dp = 2, .pp = 3, .tp = 2});
    CHECK(mesh.coordinate(Axis::tp) == world.rank() % 2);
    CHECK(mesh.coordinate(Axis::dp) == world.rank() / 2 % 2);
    CHECK(mesh.coordinate(Axis::pp) == world.rank() / 4);
    CHECK(mesh.coordinate(Axis::cp) == 0);
    CHECK(mesh.rank_of(mesh.coordinates()) == world.rank());
    CHECK(mesh.rank_of({.dp = 1, .pp = 2, .tp = 0}) == 10);
    CHECK(mesh.extent(Axis::pp) == 3);
    CHECK_THROWS_AS(mesh.rank_of({.dp = 2}), ConfigError);
  });
  run_threads(8, [](ThreadCommunicator world) {
    Mesh mesh(world, {.dp = 2, .cp = 2, .ep = 2});
    CHECK(mesh.coordinates() ==
          Coordinates{.dp = world.rank() / 4, .cp = world.rank() % 2, .ep = world.rank() / 2 % 2});
  });
}

TEST_CASE("groups hold the ranks that differ along their axes, in the mesh's order") {
  run_threads(8, [](ThreadCommunicator world) {
    Mesh mesh(world, {.dp = 2, .pp = 2, .cp = 2});  // rank = cp + 2 dp + 4 pp
    const auto members = [&](Axes axes) {
      ThreadCommunicator& group = mesh.group(axes);
      std::vector<std::int64_t> own{world.rank()}, all(static_cast<std::size_t>(group.size()));
      group.all_gather(std::span<const std::int64_t>(own), std::span<std::int64_t>(all)).wait();
      return all;
    };
    const std::int64_t r = world.rank();
    CHECK(members(Axis::dp) == std::vector{r & ~2, r | 2});
    CHECK(members(Axis::pp) == std::vector{r & ~4, r | 4});
    CHECK(members(Axis::tp) == std::vector{r});
    CHECK(members({Axis::dp, Axis::cp}) == std::vector{r & ~3, (r & ~3) + 1, (r & ~3) + 2, (r & ~3) + 3});
    CHECK(members({Axis::dp, Axis::pp, Axis::cp}).size() == 8);
    CHECK(&mesh.group({Axis::cp, Axis::dp}) == &mesh.group({Axis::dp, Axis::cp}));
    CHECK(mesh.group(Axis::pp).rank() == mesh.coordinate(Axis::pp));

    CHECK(mesh.control().size() == 8);
    CHECK(mesh.control().rank() == world.rank());
    float x = 1, y = 2;  // apart from the world's messages
    auto first = mesh.world().all_reduce(std::span<float>(&x, 1));
    mesh.control().all_reduce(std::span<float>(&y, 1)).wait();
    first.wait();
    CHECK(x == 8);
    CHECK(y == 16);
  });
}

TEST_CASE("a mesh of traced communicators lists the traffic of its groups") {
  run_threads(8, [](ThreadCommunicator world) {
    Mesh mesh(Traced{world}, {.dp = 2, .pp = 2, .cp = 2});
    std::vector<float> x(8);
    mesh.group({Axis::cp, Axis::dp}).all_reduce(std::span<float>(x)).wait();
    mesh.group(Axis::pp).all_reduce(std::span<float>(x)).wait();
    mesh.group(Axis::tp).all_reduce(std::span<float>(x)).wait();
    mesh.world().all_reduce(std::span<float>(x)).wait();
    mesh.control().all_reduce(std::span<float>(x)).wait();
    const std::vector<GroupTraffic> traffic = mesh.traffic();
    REQUIRE(traffic.size() == 4);
    CHECK(traffic[0].name == "dp+cp");
    CHECK(traffic[0].ledger.total() == Traffic{1, 4 * (6 + 6)});
    CHECK(traffic[1].name == "pp");
    CHECK(traffic[1].ledger.total() == Traffic{1, 4 * (4 + 4)});
    CHECK(traffic[2].name == "tp");
    CHECK(traffic[2].ledger.total() == Traffic{});
    CHECK(traffic[3].name == "mesh");
    CHECK(traffic[3].ledger.total() == Traffic{1, 4 * (7 + 7)});
    mesh.reset_traffic();
    for (const GroupTraffic& group : mesh.traffic()) CHECK(group.ledger.total() == Traffic{});
  });
}
