// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A device that counts instead of computing.

#pragma once

#include <cstddef>
#include <cstdint>

#include <triax/device/device.hpp>

namespace triax {

/// Stands for the device `Like`: the same alignment, the same workspaces, but memory is only counted and
/// kernels are never instantiated. Running a model's layers on it yields their memory and cost without a
/// second description.
///
/// Its addresses are not canonical: touching one faults.
template <class Like>
class Meter {
 public:
  using target = typename Like::target;
  static constexpr std::size_t alignment = Like::alignment;
  static constexpr bool directly_readable = false;

  std::byte* allocate(std::size_t) { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 62); }
  void deallocate(std::byte*, std::size_t) {}

  template <class Kernel>
  void launch(const Kernel&, Cost cost) {
    executed_.flops += cost.flops;
    executed_.bytes += cost.bytes;
    if (cost.product) product_flops_ += cost.flops;
  }
  /// Remembers the largest workspace that was asked for.
  std::byte* workspace(std::size_t bytes) {
    workspace_bytes_ = bytes > workspace_bytes_ ? bytes : workspace_bytes_;
    return allocate(bytes);
  }

  /// Everything that was launched.
  Cost executed() const { return executed_; }
  /// Floating-point operations of products and attention alone.
  double product_flops() const { return product_flops_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  Cost executed_{};
  double product_flops_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace triax
