// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <triax/core/bytes.hpp>
#include <triax/core/shape.hpp>

namespace triax {
namespace {

constexpr Shape stream{2, 3, 5};
static_assert(stream.rank() == 3 && stream[0] == 2 && stream[2] == 5);
static_assert(stream.size() == 30 && stream.rows() == 6 && stream.columns() == 5);
static_assert(stream.with_columns(7) == Shape{2, 3, 7});
static_assert(stream.with(0, 1) == Shape{1, 3, 5});
static_assert(stream != Shape{6, 5} && stream != Shape{2, 3, 5, 1});

static_assert(Shape{}.rank() == 0 && Shape{}.size() == 0 && Shape{}.rows() == 0 && Shape{}.columns() == 0);
static_assert(Shape{4}.size() == 4 && Shape{4}.rows() == 1 && Shape{4}.columns() == 4);
static_assert(Shape{0, 4}.size() == 0 && Shape{0, 4}.rows() == 0 && Shape{0, 4}.columns() == 4);

TEST_CASE("a shape has at most four extents, none negative") {
  CHECK_THROWS_WITH_AS((Shape{1, 2, 3, 4, 5}), "a Shape has at most 4 extents", ShapeError);
  CHECK_THROWS_WITH_AS((Shape{2, -1}), "a Shape has no negative extent, but one is -1", ShapeError);
}

TEST_CASE("O-01: sizes are counted in 64 bits") {
  CHECK(Shape{65536, 65536}.size() == std::int64_t{1} << 32);
  CHECK(Shape{3, 65536, 65536}.rows() == std::int64_t{3} * 65536);
}

TEST_CASE("shapes in messages") {
  CHECK(to_string(stream) == "[2, 3, 5]");
  CHECK(to_string(Shape{4}) == "[4]");
  CHECK(to_string(Shape{}) == "[]");
}

static_assert(round_up(0, 64) == 0 && round_up(1, 64) == 64 && round_up(64, 64) == 64 &&
              round_up(65, 64) == 128);
static_assert(round_up(7, 3) == 9 && round_up(9, 3) == 9);

// The test vectors of the FNV reference implementation.
static_assert(hash("") == 0xcbf29ce484222325);
static_assert(hash("a") == 0xaf63dc4c8601ec8c);
static_assert(hash("foobar") == 0x85944171f73967e8);

}  // namespace
}  // namespace triax
