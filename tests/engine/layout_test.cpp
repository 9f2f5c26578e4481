// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where parameters stand: units, buckets, chunks, alignment and ties.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <triax/engine/layout.hpp>

using namespace triax;

namespace {

/// Declares two parameters; nothing here runs it.
struct Declarer {
  std::array<Parameter, 2> declared;

  std::array<Parameter, 2> parameters() const {
    auto result = declared;
    if (result[1].name == result[0].name) result[1].name += "_2";
    return result;
  }
};

Parameter matrix(std::int64_t size, const std::string& tie = "", bool frozen = false) {
  return {.name = "matrix", .shape = {size, 4}, .tie = tie, .frozen = frozen};
}
Parameter bias(std::int64_t size) { return {.name = "bias", .shape = {size}, .decay = false}; }

/// Six units: first, four copies, last.
struct Net {
  std::tuple<Declarer, Repeat<Declarer>, Declarer> layers;
};
template <class L>
struct NetOf {
  std::tuple<L> layers;
};
Net net() {
  return {{Declarer{{matrix(10, "word"), bias(5)}},
           {Declarer{{matrix(16), bias(16)}}, 4},
           Declarer{{matrix(10, "word"), matrix(3, "", true)}}}};
}

ModelLayout layout_of(const Net& model, const std::vector<int>& bounds, const Extents& extents,
                      const Bucketing& bucketing) {
  ModelLayout layout = declare_parameters(model, extents);
  form_chunks(layout, bounds, extents, bucketing);
  return layout;
}

/// What must hold for every layout.
void check_sound(const ModelLayout& layout, int ranks) {
  std::vector<std::int64_t> filled(layout.chunks.size(), 0);
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const PlacedParameter& parameter = layout.parameters[i];
    const ChunkShape& chunk = layout.chunks[static_cast<std::size_t>(parameter.chunk)];
    CAPTURE(parameter.path);
    CHECK(parameter.offset % 32 == 0);
    CHECK(parameter.offset >= filled[static_cast<std::size_t>(parameter.chunk)]);  // in model order, apart
    filled[static_cast<std::size_t>(parameter.chunk)] = parameter.offset + parameter.local.size();
    CHECK(parameter.offset + parameter.local.size() <= chunk.size);
    CHECK(parameter.trained() == chunk.trained);
    CHECK(parameter.declared.tie == chunk.tie);
    CHECK(chunk.first_unit <= parameter.unit);
    CHECK(chunk.last_unit >= parameter.unit);
  }
  for (const ChunkShape& chunk : layout.chunks) {
    CHECK(chunk.ranks == ranks);
    CHECK(chunk.size % (32 * ranks) == 0);  // slices start on a boundary, too
    CHECK(chunk.slice() * ranks == chunk.size);
    CHECK(layout.stage_of(chunk.first_unit) == layout.stage_of(chunk.last_unit));
    if (!chunk.tie.empty()) CHECK(chunk.parameters.size() == 1);
  }
}

}  // namespace

TEST_CASE("parameters have paths, units and shapes in model order") {
  const ModelLayout layout = declare_parameters(net(), {});
  REQUIRE(layout.parameters.size() == 12);
  CHECK(layout.first_parameter == std::vector<int>{0, 2, 4, 6, 8, 10, 12});
  CHECK(layout.parameters[0].path == "0.0.matrix");
  CHECK(layout.parameters[7].path == "1.2.bias");
  CHECK(layout.parameters[7].unit == 3);
  CHECK(layout.parameters[10].path == "2.0.matrix");
  CHECK(layout.parameters[0].random_name() == "word");  // holders of a tie start equal
  CHECK(layout.parameters[10].random_name() == "word");
  CHECK(layout.parameters[7].random_name() == "1.2.bias");
  CHECK(!layout.parameters[11].trained());
}

TEST_CASE("what a layer forgot to declare is refused") {
  struct Same {
    std::array<Parameter, 2> parameters() const { return {matrix(1), matrix(2)}; }
  };
  struct Shapeless {
    std::array<Parameter, 1> parameters() const { return {Parameter{.name = "scalar"}}; }
  };
  CHECK_THROWS_WITH_AS(
      declare_parameters(NetOf<Same>{}, {}),
      "a layer declares two parameters called 0.0.matrix; their names must differ, since initial "
      "values and access depend on them",
      ConfigError);
  CHECK_THROWS_WITH_AS(declare_parameters(NetOf<Shapeless>{}, {}),
                       "parameter 0.0.scalar has no shape; a scalar has the shape {1}", ConfigError);
}

TEST_CASE("one large bucket holds all but ties and frozen parameters") {
  const ModelLayout layout = layout_of(net(), {0, 6}, {}, {});
  check_sound(layout, 1);
  REQUIRE(layout.chunks.size() == 4);
  CHECK(layout.chunks[0].tie == "word");
  CHECK(layout.chunks[0].size == 64);  // of 40
  CHECK(layout.chunks[1].parameters == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(layout.chunks[1].first_unit == 0);
  CHECK(layout.chunks[1].last_unit == 4);
  CHECK(layout.chunks[1].size == 32 + 4 * (64 + 32));
  CHECK(layout.chunks[2].tie == "word");
  CHECK(layout.chunks[2].first_unit == 5);
  CHECK(!layout.chunks[3].trained);
}

TEST_CASE("buckets are filled from the last unit on, the first one small, none crossing a stage") {
  // A copy has 80 elements, 320 bytes.
  const Bucketing bucketing{.bytes = 640, .first_bytes = 1, .per_unit = false};
  const ModelLayout one = layout_of(net(), {0, 6}, {.dp = 2}, bucketing);
  check_sound(one, 2);
  std::vector<std::vector<int>> units;  // of untied trained chunks, in model order
  for (const ChunkShape& chunk : one.chunks)
    if (chunk.tie.empty() && chunk.trained) units.push_back({chunk.first_unit, chunk.last_unit});
  // Gradients are ready in the order 5 (nothing untied), 4, 3, 2, 1, 0: unit 4 fills the first bucket.
  CHECK(units == std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4, 4}});

  const ModelLayout two = layout_of(net(), {0, 3, 6}, {.dp = 2, .pp = 2}, bucketing);
  check_sound(two, 2);
  units.clear();
  for (const ChunkShape& chunk : two.chunks)
    if (chunk.tie.empty() && chunk.trained) units.push_back({chunk.first_unit, chunk.last_unit});
  CHECK(units == std::vector<std::vector<int>>{{0, 1}, {2, 2}, {3, 3}, {4, 4}});
}

TEST_CASE("one chunk a unit where parameters are gathered") {
  const ModelLayout layout = layout_of(net(), {0, 2, 6}, {.dp = 3, .pp = 2}, {.per_unit = true});
  check_sound(layout, 3);
  for (const ChunkShape& chunk : layout.chunks) CHECK(chunk.first_unit == chunk.last_unit);
  CHECK(layout.chunks.size() == 8);  // two for each end, one for each copy
}

TEST_CASE("every tied parameter is a chunk of its own, even two in a unit") {
  const Net model{{Declarer{{matrix(8, "a"), matrix(8, "a")}},
                   {Declarer{{matrix(8, "a"), matrix(8, "b")}}, 2},
                   Declarer{{matrix(8, "b"), bias(8)}}}};
  for (const bool per_unit : {false, true}) {
    const ModelLayout layout = layout_of(model, {0, 2, 4}, {.dp = 2, .pp = 2}, {.per_unit = per_unit});
    check_sound(layout, 2);
    CHECK(layout.chunks.size() == 8);
  }
}

TEST_CASE("a chunk's group is the axes over which it is copied") {
  const ModelLayout layout = layout_of(net(), {0, 6}, {.dp = 2, .cp = 3, .ep = 2}, {});
  CHECK(name(layout.chunks[0].group) == "dp+cp+ep");
  CHECK(layout.chunks[0].ranks == 12);
  const ModelLayout alone = layout_of(net(), {0, 6}, {.pp = 1}, {});
  CHECK(name(alone.chunks[0].group) == "dp");
  CHECK(alone.chunks[0].ranks == 1);
}

TEST_CASE("tensor parallelism cuts what is declared to be cut, if it divides") {
  PlacedParameter parameter{
      .declared = {.name = "w", .shape = {6, 12}, .split = Split::columns.in_sections(3)}, .path = "0.0.w"};
  CHECK(local_shape(parameter, 1) == Shape{6, 12});
  CHECK(local_shape(parameter, 2) == Shape{6, 6});
  CHECK_THROWS_WITH_AS(local_shape(parameter, 3),
                       "parameter 0.0.w of shape [6, 12] does not divide over 3 tensor-parallel ranks",
                       ConfigError);
  parameter.declared.split = Split::none;
  CHECK(local_shape(parameter, 5) == Shape{6, 12});
}

TEST_CASE("holders of a tie must be declared alike") {
  Net model = net();
  std::get<2>(model.layers).declared[0] = matrix(11, "word");
  CHECK_THROWS_AS(declare_parameters(model, {}), ConfigError);
  std::get<2>(model.layers).declared[0] = matrix(10, "word");
  std::get<2>(model.layers).declared[0].init = Initialiser::zeros();
  CHECK_THROWS_AS(declare_parameters(model, {}), ConfigError);
}
