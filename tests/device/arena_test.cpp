// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <utility>

#include <doctest/doctest.h>

#include <triax/device/arena.hpp>
#include <triax/device/host.hpp>
#include <triax/device/meter.hpp>

namespace triax {
namespace {

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST_CASE("an arena hands out zeroed, aligned, separate memory in order, and counts it") {
  Host host;
  Arena<Host> arena(host, 512, "slot");
  CHECK(host.allocated() == 512);
  const auto a = arena.take<float>({3, 5});
  const auto b = arena.take<double>({1});
  const auto nothing = arena.take<float>({0, 5});
  CHECK(a.shape() == Shape{3, 5});
  CHECK(address(a.data()) % Host::alignment == 0);
  CHECK(address(b.data()) == address(a.data()) + 64);
  CHECK(nothing.size() == 0);
  CHECK(std::all_of(a.span().begin(), a.span().end(), [](float value) { return value == 0; }));
  CHECK(arena.used() == 128);
  CHECK(arena.peak() == 128);
  CHECK(arena.takes() == 3);
  CHECK(arena.taken() == 128);
}

TEST_CASE("an arena reuses memory, and its peak is the most that was in use at once") {
  Host host;
  Arena<Host> arena(host, 512, "slot");
  const auto first = arena.take<float>({16});
  {
    const Scope scope(arena);
    arena.take<float>({32});
    CHECK(arena.used() == 192);
  }
  CHECK(arena.used() == 64);
  CHECK(arena.take<float>({16}).data() == first.data() + 16);
  arena.rewind();
  CHECK(arena.take<float>({16}).data() == first.data());
  CHECK(arena.peak() == 192);
  CHECK(arena.takes() == 4);
  CHECK(arena.taken() == 320);
}

TEST_CASE("an arena that was planned too small says so and stays as it was") {
  Host host;
  Arena<Host> arena(host, 128, "slot");
  arena.take<float>({16});
  CHECK_NOTHROW(arena.take<float>({16}));
  arena.rewind(64);
  CHECK_THROWS_WITH_AS(
      arena.take<float>({17}),
      "the arena 'slot' of 128 bytes has 64 left, but 128 were asked for; a layer's sizes must be "
      "functions of shapes alone",
      Error);
  CHECK(arena.used() == 64);
  CHECK(arena.takes() == 2);
}

TEST_CASE("an arena gives its memory back once, also after moves") {
  Host host;
  {
    Arena<Host> arena(host, 256, "slot");
    Arena<Host> moved(std::move(arena));
    CHECK(moved.capacity() == 256);
    Arena<Host> assigned;
    assigned = std::move(moved);
    CHECK(assigned.take<float>({1}));
    CHECK(host.allocated() == 256);
  }
  CHECK(host.allocated() == 0);
}

TEST_CASE("an arena on a Meter counts as one on the Host does") {
  Host host;
  Meter<Host> meter;
  Arena<Host> real(host, 4096, "slot");
  Arena<Meter<Host>> metered(meter, std::size_t{1} << 40, "slot");
  const auto use = [](auto& arena) {
    arena.template take<float>({3, 5});
    arena.template take<std::uint8_t>({65});
    const std::size_t mark = arena.used();
    arena.template take<double>({100});
    arena.rewind(mark);
    arena.template take<float>({1});
  };
  use(real);
  use(metered);
  CHECK(metered.used() == real.used());
  CHECK(metered.peak() == real.peak());
  CHECK(metered.takes() == real.takes());
  CHECK(metered.taken() == real.taken());
}

TEST_CASE("the host's workspace grows on demand and is given back") {
  Host host;
  CHECK(host.workspace_bytes() == 0);
  auto* const memory = host.workspace(100);
  CHECK(host.workspace(50) == memory);
  CHECK(host.workspace_bytes() == 100);
  host.workspace(200);
  CHECK(host.workspace_bytes() == 200);
  CHECK(host.allocated() == 200);
  host.reserve_workspace(0);
  CHECK(host.allocated() == 0);
}

TEST_CASE("a Meter adds up costs and remembers the largest workspace") {
  Meter<Host> meter;
  const auto never = [] { FAIL("a kernel ran on a Meter"); };
  meter.launch(never, {.flops = 10, .bytes = 4});
  meter.launch(never, {.flops = 5, .bytes = 2, .product = true});
  CHECK(meter.executed().flops == 15);
  CHECK(meter.executed().bytes == 6);
  CHECK(meter.product_flops() == 5);
  meter.workspace(100);
  meter.workspace(30);
  CHECK(meter.workspace_bytes() == 100);
}

}  // namespace
}  // namespace triax
