// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Chunks made by hand, for tests of the parts that work on them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <triax/engine/chunk.hpp>

namespace triax::test {

/// A row of chunks of one parameter each, with all the memory that they may need on one rank.
template <class Communicator>
class HandmadeChunks {
 public:
  using ChunkType = Chunk<float, Communicator>;

  struct Spec {
    int first_unit = 0;
    int last_unit = 0;
    std::int64_t size = 0;  ///< a multiple of the group's size
    std::string tie{};
    bool trained = true;
    std::int64_t used = -1;  ///< elements of the parameter; -1: all
  };

  /// Chunks of `specs`, each over `group` and sharded by `flags`. Stages are cut at `bounds`; those of other
  /// stages than `stage` are in the layout only.
  HandmadeChunks(const std::vector<Spec>& specs, Communicator& group, ShardingFlags flags,
                 std::vector<int> bounds = {0, 1 << 20}, int stage = 0) {
    layout.stage_bounds = std::move(bounds);
    for (const Spec& spec : specs) {
      const auto index = static_cast<int>(layout.chunks.size());
      const std::int64_t used = spec.used < 0 ? spec.size : spec.used;
      PlacedParameter& parameter = layout.parameters.emplace_back();
      parameter.declared = {.name = "w", .shape = {used}, .tie = spec.tie, .frozen = !spec.trained};
      parameter.path = std::to_string(spec.first_unit) + "." + std::to_string(index) + ".w";
      parameter.unit = spec.first_unit;
      parameter.local = {used};
      parameter.chunk = index;
      layout.chunks.push_back({.first_unit = spec.first_unit,
                               .last_unit = spec.last_unit,
                               .group = Axis::dp,
                               .ranks = group.size(),
                               .trained = spec.trained,
                               .tie = spec.tie,
                               .size = spec.size,
                               .parameters = {index}});
    }
    for (std::size_t i = 0; i < layout.chunks.size(); ++i) {
      const ChunkShape& shape = layout.chunks[i];
      if (layout.stage_of(shape.first_unit) != stage) continue;
      ChunkType& chunk = chunks.emplace_back();
      chunk.shape = &shape;
      chunk.group = &group;
      if (group.size() > 1)
        chunk.sharded = {flags.state && shape.trained, flags.gradients && shape.trained, flags.parameters};
      chunk.values = numbers(chunk.sharded.parameters ? shape.slice() : shape.size);
      if (shape.trained)
        (chunk.sharded.gradients ? chunk.owned : chunk.gradient) =
            numbers(chunk.sharded.gradients ? shape.slice() : shape.size);
      Binding<float>& binding = bindings_.emplace_back();
      binding.shape = layout.parameters[i].local;
      binding.asked = &asked_;
      chunk.bound.push_back({&binding, static_cast<int>(i), 0});
      chunk.bind_values(chunk.values);
      chunk.bind_gradient(chunk.gradient);
    }
  }

  ModelLayout layout;
  std::vector<ChunkType> chunks;

  Binding<float>& binding(std::size_t chunk) { return *chunks[chunk].bound[0].binding; }

 private:
  float* numbers(std::int64_t count) {
    return memory_.emplace_back(static_cast<std::size_t>(count), 0.0F).data();
  }

  std::deque<std::vector<float>> memory_;
  std::deque<Binding<float>> bindings_;
  std::uint8_t asked_ = 0;
};

/// Room for any test's buffers.
inline Arena<Host> roomy_arena(Host& host) { return {host, 1 << 16, "test"}; }

}  // namespace triax::test
