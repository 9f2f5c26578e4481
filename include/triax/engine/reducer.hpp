// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Sums gradients over their replica groups while backward still runs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/kernels/elementwise.hpp>

namespace triax {

/// Launches the reduction of a chunk as soon as its gradients are complete.
///
/// Where gradients are sharded, layers accumulate a micro-batch into one of a few buffers, which is
/// reduce-scattered and added to the owned slice: the memory of a gradient is that of its slice. Otherwise
/// they accumulate all micro-batches into the full gradient, which is reduced once, in place: all-reduced
/// where the state is whole, reduce-scattered where it is sharded. `Order` is the order of additions over
/// ranks.
template <class Order, class Device, class ChunkType, class Communicator>
class Reducer {
 public:
  using Request = request_t<Communicator>;

  /// Each of the `buffers` holds `buffer_size` elements, the largest gradient-sharded chunk. There are at
  /// least as many as such chunks are filled at the same time; none when no chunk is gradient-sharded.
  Reducer(Device& device, std::vector<ChunkType>& chunks, Arena<Device>& arena, int buffers,
          std::int64_t buffer_size)
      : device_(device), chunks_(chunks), buffers_(static_cast<std::size_t>(buffers)) {
    for (Buffer& buffer : buffers_) buffer.data = arena.template take<float>({buffer_size}).data();
    pending_.reserve(chunks.size());
  }

  /// Sets every accumulator to zero.
  void begin_step() {
    for (ChunkType& chunk : chunks_) {
      if (!chunk.shape->trained) continue;
      const std::int64_t size = chunk.sharded.gradients ? chunk.shape->slice() : chunk.size();
      fill(device_, Tensor<float, Device>(chunk.sharded.gradients ? chunk.owned : chunk.gradient, {size}),
           0.0F);
    }
  }

  /// Before the backward of `unit`: gives the chunks that it is the first to write a clean buffer.
  void begin_unit(int unit) {
    for (ChunkType& chunk : chunks_) {
      if (!chunk.sharded.gradients || chunk.shape->last_unit != unit) continue;
      Buffer& buffer = free_buffer();
      buffer.chunk = &chunk;
      fill(device_, Tensor<float, Device>(buffer.data, {chunk.size()}), 0.0F);
      chunk.bind_gradient(buffer.data);
    }
  }

  /// After the backward of `unit`: launches the chunks that it was the last to write. `last` says that no
  /// micro-batch follows.
  void end_unit(int unit, bool last) {
    for (ChunkType& chunk : chunks_) {
      if (!chunk.shape->trained || chunk.shape->first_unit != unit) continue;
      if (chunk.sharded.gradients)
        launch_sharded(chunk);
      else if (last && chunk.shape->ranks > 1)
        pending_.push_back(reduce(chunk, chunk.gradient));
    }
  }

  /// Waits for every reduction.
  void drain() {
    for (Request& request : pending_) request.wait();
    pending_.clear();
    while (Buffer* buffer = earliest_launched()) settle(*buffer);
  }

 private:
  struct Buffer {
    float* data = nullptr;
    ChunkType* chunk = nullptr;  ///< whose gradient it holds; null when it is free
    std::uint64_t launch = 0;    ///< the number of its reduction; 0 while it is being filled
    Request request{};
  };

  Request reduce(ChunkType& chunk, float* data) {
    const std::span<float> all(data, static_cast<std::size_t>(chunk.size()));
    if (!chunk.sharded.state) return chunk.group->all_reduce(all, Sum{}, Order{});
    const ElementRange slice = chunk.slice();
    return chunk.group->reduce_scatter(
        std::span<const float>(all),
        all.subspan(static_cast<std::size_t>(slice.first), static_cast<std::size_t>(slice.size)), Sum{},
        Order{});
  }
  void launch_sharded(ChunkType& chunk) {
    for (Buffer& buffer : buffers_) {
      if (buffer.chunk != &chunk || buffer.launch != 0)
        continue;  // or it still holds an earlier micro-batch's
      buffer.request = reduce(chunk, buffer.data);
      buffer.launch = ++launches_;
    }
  }
  Buffer& free_buffer() {
    for (Buffer& buffer : buffers_)
      if (!buffer.chunk) return buffer;
    Buffer& buffer = *earliest_launched();
    settle(buffer);
    return buffer;
  }
  Buffer* earliest_launched() {
    Buffer* earliest = nullptr;
    for (Buffer& buffer : buffers_)
      if (buffer.chunk && buffer.launch != 0 && (!earliest || buffer.launch < earliest->launch))
        earliest = &buffer;
    return earliest;
  }
  /// Buffers are settled in the order of launching: additions to one slice keep the order of micro-batches.
  void settle(Buffer& buffer) {
    buffer.request.wait();
    const ElementRange slice = buffer.chunk->slice();
    add(device_, Tensor<const float, Device>(buffer.data + slice.first, {slice.size}),
        Tensor<float, Device>(buffer.chunk->owned, {slice.size}));
    buffer.chunk = nullptr;
    buffer.launch = 0;
  }

  Device& device_;
  std::vector<ChunkType>& chunks_;
  std::vector<Buffer> buffers_;
  std::uint64_t launches_ = 0;
  std::vector<Request> pending_;
};

}  // namespace triax
