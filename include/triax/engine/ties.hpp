// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Adds the gradients of tied parameters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/kernels/elementwise.hpp>

namespace triax {

/// Parameters that share a tie are one parameter with several holders, each with an accumulator of its own,
/// even on one rank. Once each is reduced over its replica group, the owned parts are added in model order,
/// over pipeline stages where the holders live on different ones. Every holder ends with the same bits.
template <class Device, class ChunkType, class Communicator>
class Ties {
 public:
  using Request = request_t<Communicator>;

  /// Finds the ties that this rank takes part in; `pipeline` is the communicator over pp, on which `stage` is
  /// this rank's place.
  Ties(Device& device, const ModelLayout& layout, std::vector<ChunkType>& chunks, Communicator& pipeline,
       int stage, Arena<Device>& arena)
      : device_(device), pipeline_(pipeline) {
    for (std::size_t i = 0; i < layout.chunks.size(); ++i) {
      const ChunkShape& first = layout.chunks[i];
      if (first.tie.empty() || !first.trained || !leads(layout, i)) continue;
      Tie tie;
      bool present = false;
      for (std::size_t j = i; j < layout.chunks.size(); ++j) {
        const ChunkShape& shape = layout.chunks[j];
        if (shape.tie != first.tie) continue;
        ChunkType* chunk = find(chunks, shape);
        tie.holders.push_back({chunk, nullptr, layout.stage_of(shape.first_unit)});
        present = present || chunk;
      }
      if (!present) continue;
      const std::int64_t size = largest_update(tie);
      for (Holder& holder : tie.holders)
        if (holder.stage != stage) holder.received = arena.template take<float>({size}).data();
      requests_.reserve(2 * tie.holders.size() * tie.holders.size());
      ties_.push_back(std::move(tie));
    }
  }

  /// Adds the reduced gradients of all holders.
  void add_gradients() {
    for (Tie& tie : ties_) {
      exchange(tie);
      const std::int64_t size = largest_update(tie);
      const auto view = [&](Holder& holder) { return Tensor<float, Device>(gradient(holder), {size}); };
      for (std::size_t i = 1; i < tie.holders.size(); ++i)
        add(device_, view(tie.holders[i]), view(tie.holders[0]));
      for (std::size_t i = 1; i < tie.holders.size(); ++i)
        if (tie.holders[i].chunk) copy(device_, view(tie.holders[0]), view(tie.holders[i]));
    }
  }

 private:
  struct Holder {
    ChunkType* chunk;  ///< null on another stage
    float* received;   ///< what came from there
    int stage;
  };
  struct Tie {
    std::vector<Holder> holders{};
  };

  static bool leads(const ModelLayout& layout, std::size_t chunk) {
    for (std::size_t i = 0; i < chunk; ++i)
      if (layout.chunks[i].tie == layout.chunks[chunk].tie) return false;
    return true;
  }
  static ChunkType* find(std::vector<ChunkType>& chunks, const ChunkShape& shape) {
    for (ChunkType& chunk : chunks)
      if (chunk.shape == &shape) return &chunk;
    return nullptr;
  }
  static std::int64_t largest_update(const Tie& tie) {
    for (const Holder& holder : tie.holders)
      if (holder.chunk) return holder.chunk->updated().size;
    return 0;
  }
  static float* gradient(const Holder& holder) {
    return holder.chunk ? holder.chunk->reduced_gradient(holder.chunk->updated().first) : holder.received;
  }

  void exchange(Tie& tie) {
    const auto size = static_cast<std::size_t>(largest_update(tie));
    for (const Holder& mine : tie.holders) {
      if (!mine.chunk) continue;
      int last = mine.stage;
      for (const Holder& other : tie.holders) {  // in model order, so a stage's holders are neighbours
        if (!other.chunk && other.stage != last)
          requests_.push_back(pipeline_.send(std::span<const float>(gradient(mine), size), other.stage));
        last = other.stage;
      }
    }
    for (const Holder& other : tie.holders)
      if (!other.chunk)
        requests_.push_back(pipeline_.recv(std::span<float>(other.received, size), other.stage));
    for (Request& request : requests_) request.wait();
    requests_.clear();
  }

  Device& device_;
  Communicator& pipeline_;
  std::vector<Tie> ties_;
  std::vector<Request> requests_;
};

}  // namespace triax
