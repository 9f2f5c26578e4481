// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The long-lived memory of a rank: parameters, gradients, optimizer state and buffers, in one arena each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <triax/comm/mesh.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/engine/layout.hpp>
#include <triax/engine/sharding.hpp>

namespace triax {

/// Bytes of a rank, by what they hold.
struct RankBytes {
  std::size_t parameters = 0;   ///< in the compute type
  std::size_t gradients = 0;    ///< fp32 accumulators
  std::size_t optimizer = 0;    ///< optimizer state, and fp32 masters of 16-bit parameters
  std::size_t buffers = 0;      ///< gather, reduction, send and agreement buffers, and the step's state
  std::size_t activations = 0;  ///< slots, flow and scratch arenas, and the device's workspace

  std::size_t total() const { return parameters + gradients + optimizer + buffers + activations; }
  friend bool operator==(const RankBytes&, const RankBytes&) = default;
};

/// Owns the memory of this rank's chunks.
template <ComputeType T, class Device, class Communicator>
class Storage {
 public:
  using ChunkType = Chunk<T, Communicator>;

  /// Allocates the arenas with the planned capacities; nothing else allocates device memory later.
  Storage(Device& device, const RankBytes& planned)
      : parameters_(device, planned.parameters, "parameters"),
        gradients_(device, planned.gradients, "gradients"),
        optimizer_(device, planned.optimizer, "optimizer"),
        buffers_(device, planned.buffers, "buffers") {}

  /// Takes the memory of the chunks of stage `stage`. `bindings[u]` are those of the stage's u-th unit.
  template <class MeshType>
  void place(const ModelLayout& layout, int stage, MeshType& mesh, ShardingFlags flags, int optimizer_states,
             std::vector<std::vector<Binding<T>>>& bindings) {
    const int first = layout.stage_bounds[static_cast<std::size_t>(stage)];
    const int last = layout.stage_bounds[static_cast<std::size_t>(stage) + 1];
    for (const ChunkShape& shape : layout.chunks) {
      Communicator& group =
          mesh.group(shape.group);  // made by all ranks together, those without the chunk too
      if (shape.first_unit < first || shape.first_unit >= last) continue;
      ChunkType& chunk = chunks_.emplace_back();
      chunk.shape = &shape;
      chunk.group = &group;
      chunk.sharded = effective(flags, shape);
      take_memory(chunk, optimizer_states);
      for (const int index : shape.parameters) {
        const PlacedParameter& parameter = layout.parameters[static_cast<std::size_t>(index)];
        const int place = index - layout.first_parameter[static_cast<std::size_t>(parameter.unit)];
        Binding<T>& binding =
            bindings[static_cast<std::size_t>(parameter.unit - first)][static_cast<std::size_t>(place)];
        binding.shape = parameter.local;
        chunk.bound.push_back({&binding, index, parameter.offset});
      }
      if (!chunk.sharded.parameters) chunk.bind_values(chunk.values);
      chunk.bind_gradient(chunk.gradient);
    }
  }

  /// What a stage's flags mean for one chunk: a group of one rank shares nothing out, what is not trained has
  /// no gradient or state, and what layers write stays where they write it.
  static ShardingFlags effective(ShardingFlags flags, const ChunkShape& shape) {
    if (shape.ranks == 1) return {};
    return {flags.state && shape.trained, flags.gradients && shape.trained,
            flags.parameters && !shape.written};
  }

  std::vector<ChunkType>& chunks() { return chunks_; }
  const std::vector<ChunkType>& chunks() const { return chunks_; }
  Arena<Device>& buffers() { return buffers_; }

  /// The bytes in use, as the arenas saw them.
  RankBytes measured() const {
    return {parameters_.peak(), gradients_.peak(), optimizer_.peak(), buffers_.peak(), 0};
  }

 private:
  void take_memory(ChunkType& chunk, int optimizer_states) {
    const std::int64_t size = chunk.size();
    const std::int64_t slice = chunk.shape->slice();
    chunk.values = parameters_.template take<T>({chunk.sharded.parameters ? slice : size}).data();
    if (!chunk.shape->trained) return;
    float* gradient = gradients_.template take<float>({chunk.sharded.gradients ? slice : size}).data();
    (chunk.sharded.gradients ? chunk.owned : chunk.gradient) = gradient;
    const std::int64_t updated = chunk.updated().size;
    if constexpr (std::is_same_v<T, float>)
      chunk.master = chunk.updated_values();
    else
      chunk.master = optimizer_.template take<float>({updated}).data();
    for (int i = 0; i < optimizer_states; ++i)
      chunk.state[static_cast<std::size_t>(i)] = optimizer_.template take<float>({updated}).data();
  }

  Arena<Device> parameters_;
  Arena<Device> gradients_;
  Arena<Device> optimizer_;
  Arena<Device> buffers_;
  std::vector<ChunkType> chunks_;
};

}  // namespace triax
