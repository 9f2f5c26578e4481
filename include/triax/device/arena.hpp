// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Memory that is planned before it is used.

#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <triax/core/bytes.hpp>
#include <triax/core/error.hpp>
#include <triax/core/tensor.hpp>

namespace triax {

/// One contiguous allocation of a device from which tensors are taken in stack order.
///
/// It never grows: what it must hold is known beforehand (see Plan). `peak()` and `takes()` are the
/// measurement with which tests compare the plan.
template <class Device>
class Arena {
 public:
  Arena() = default;
  /// Allocates `capacity` bytes; `name` appears in messages.
  Arena(Device& device, std::size_t capacity, const char* name)
      : device_(&device),
        base_(capacity ? device.allocate(capacity) : nullptr),
        capacity_(capacity),
        name_(name) {}
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(base_, other.base_);
    std::swap(capacity_, other.capacity_);
    std::swap(used_, other.used_);
    std::swap(peak_, other.peak_);
    std::swap(takes_, other.takes_);
    std::swap(taken_, other.taken_);
    std::swap(name_, other.name_);
    return *this;
  }
  ~Arena() {
    if (base_) device_->deallocate(base_, capacity_);
  }

  /// The next `shape.size()` elements, aligned for the device. Throws Error when the plan was too small,
  /// which is a fault of a layer whose sizes depend on more than shapes.
  template <class T>
  Tensor<T, Device> take(const Shape& shape) {
    const std::size_t size = round_up(static_cast<std::size_t>(shape.size()) * sizeof(T), Device::alignment);
    if (size > capacity_ - used_)
      throw Error(std::string("the arena '") + name_ + "' of " + std::to_string(capacity_) + " bytes has " +
                  std::to_string(capacity_ - used_) + " left, but " + std::to_string(size) +
                  " were asked for; a layer's sizes must be functions of shapes alone");
    T* data = reinterpret_cast<T*>(base_ + used_);
    used_ += size;
    peak_ = used_ > peak_ ? used_ : peak_;
    ++takes_;
    taken_ += size;
    return {data, shape};
  }

  /// Forgets everything taken since `used()` returned `mark`.
  void rewind(std::size_t mark = 0) { used_ = mark; }

  std::size_t used() const { return used_; }
  std::size_t capacity() const { return capacity_; }
  /// The most bytes that were in use at once.
  std::size_t peak() const { return peak_; }
  /// How often take() was called, and the bytes of all calls together.
  std::size_t takes() const { return takes_; }
  std::size_t taken() const { return taken_; }

 private:
  Device* device_ = nullptr;
  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t takes_ = 0;
  std::size_t taken_ = 0;
  const char* name_ = "";
};

/// Returns what was taken from an arena in this block when the block ends.
template <class Device>
class Scope {
 public:
  explicit Scope(Arena<Device>& arena) : arena_(arena), mark_(arena.used()) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { arena_.rewind(mark_); }

 private:
  Arena<Device>& arena_;
  std::size_t mark_;
};

}  // namespace triax
