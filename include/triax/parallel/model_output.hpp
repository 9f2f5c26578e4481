// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What `forward` returns.

#pragma once

#include <cstddef>
#include <memory>

#include <triax/core/bytes.hpp>
#include <triax/core/tensor.hpp>
#include <triax/device/arena.hpp>

namespace triax {

/// What a model gives for a batch: on ranks of the last stage the stream that leaves the model, {sequences,
/// tokens, features}; elsewhere null. Owns its memory.
template <class T, class Device>
class ModelOutput {
 public:
  ModelOutput() = default;
  ModelOutput(Device& device, const Shape& shape)
      : arena_(std::make_unique<Arena<Device>>(
            device, round_up(static_cast<std::size_t>(shape.size()) * sizeof(T), Device::alignment),
            "model output")),
        stream_(arena_->template take<T>(shape)) {}

  const Tensor<T, Device>& stream() const { return stream_; }
  explicit operator bool() const { return static_cast<bool>(stream_); }

 private:
  std::unique_ptr<Arena<Device>> arena_;
  Tensor<T, Device> stream_{};
};

}  // namespace triax
