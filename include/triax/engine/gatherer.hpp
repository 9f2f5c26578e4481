// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Brings sharded parameters together just before a unit needs them.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/chunk.hpp>

namespace triax {

/// Gathers the parameters of one unit while another runs, in two buffers.
///
/// A step visits units in a known order. While a unit runs, the next visit's parameters are on their way into
/// the other buffer; a unit that is still there is not gathered again. Weights change after every update, so
/// nothing is kept from one step to the next.
template <class Device, class ChunkType, class Communicator>
class Gatherer {
 public:
  using Request = request_t<Communicator>;
  using T = std::remove_pointer_t<decltype(ChunkType::values)>;

  /// `buffer_size` elements hold the parameter-sharded chunks of the largest unit; 0 when there is none.
  Gatherer(std::vector<ChunkType>& chunks, Arena<Device>& arena, std::int64_t buffer_size) : chunks_(chunks) {
    for (Buffer& buffer : buffers_) {
      if (buffer_size > 0) buffer.data = arena.template take<T>({buffer_size}).data();
      buffer.requests.reserve(chunks.size());
    }
  }

  /// Begins a run over `visits`, the units in the order of their use. The vector must outlive the run.
  void begin(const std::vector<int>& visits) {
    visits_ = &visits;
    at_ = 0;
    for (Buffer& buffer : buffers_) buffer.unit = none;
    if (buffers_[0].data && !visits.empty()) launch(buffers_[0], visits[0]);
  }

  /// Before the next visit: its parameters are complete and bound, and the gathering of the visit after it
  /// has begun.
  void acquire() {
    if (!buffers_[0].data) return;
    const std::size_t here = buffers_[0].unit == (*visits_)[at_] ? 0 : 1;
    Buffer& current = buffers_[here];
    for (Request& request : current.requests) request.wait();
    current.requests.clear();
    bind(current);
    ++at_;
    if (at_ == visits_->size()) return;
    const int next = (*visits_)[at_];
    if (next != current.unit && next != buffers_[1 - here].unit) launch(buffers_[1 - here], next);
  }

 private:
  static constexpr int none = -1;
  struct Buffer {
    T* data = nullptr;
    int unit = none;
    std::vector<Request> requests{};
  };

  template <class F>
  void each_chunk(const Buffer& buffer, F f) {
    T* data = buffer.data;
    for (ChunkType& chunk : chunks_) {
      if (!chunk.sharded.parameters || chunk.shape->first_unit != buffer.unit) continue;
      f(chunk, data);
      data += chunk.size();
    }
  }
  void launch(Buffer& buffer, int unit) {
    buffer.unit = unit;
    each_chunk(buffer, [&](ChunkType& chunk, T* data) {
      buffer.requests.push_back(chunk.group->all_gather(
          std::span<const T>(chunk.values, static_cast<std::size_t>(chunk.shape->slice())),
          std::span<T>(data, static_cast<std::size_t>(chunk.size()))));
    });
  }
  void bind(const Buffer& buffer) {
    each_chunk(buffer, [](ChunkType& chunk, T* data) { chunk.bind_values(data); });
  }

  std::vector<ChunkType>& chunks_;
  std::array<Buffer, 2> buffers_{};
  const std::vector<int>* visits_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace triax
