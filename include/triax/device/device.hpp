// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What the library asks of a device.

#pragma once

#include <concepts>
#include <cstddef>

namespace triax {

/// What a launch costs: floating-point operations (a multiply-add counts 2) and bytes moved.
struct Cost {
  double flops = 0;
  double bytes = 0;
  bool product = false;  ///< a matrix product or attention: what model FLOPs are made of
};

/// A device allocates memory and runs kernels in order.
///
/// * `alignment`: where every allocation and every tensor of an arena starts, in bytes;
/// * `directly_readable`: whether the host may dereference the device's pointers;
/// * `target`: the device itself, or the one that a Meter stands for;
/// * `launch(kernel, cost)` calls the functor `kernel`, which holds pointers and sizes only;
/// * `workspace(bytes)` is memory for the staging inside one launch, overwritten by the next.
template <class D>
concept Device = requires(D& device, std::size_t bytes, std::byte* memory) {
  typename D::target;
  requires D::alignment > 0;
  { D::directly_readable } -> std::convertible_to<bool>;
  { device.allocate(bytes) } -> std::same_as<std::byte*>;
  device.deallocate(memory, bytes);
  { device.workspace(bytes) } -> std::same_as<std::byte*>;
};

}  // namespace triax
