// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Reduction operations, their orders, and the one loop that reduces buffers of several ranks in rank order.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <triax/core/float16.hpp>

namespace triax {

/// The element types that every communicator carries.
template <class T>
concept Communicable = ComputeType<T> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
                       std::same_as<T, std::uint8_t>;

/// The name of an element type in messages.
template <Communicable T>
constexpr const char* element_name() {
  if constexpr (ComputeType<T>) return type_name<T>();
  if constexpr (std::same_as<T, std::int32_t>) return "int32";
  if constexpr (std::same_as<T, std::int64_t>) return "int64";
  return "uint8";
}

/// Addition. Integers wrap around.
struct Sum {
  static constexpr const char* name = "sum";
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};

/// The smallest value; a NaN on any rank wins.
struct Min {
  static constexpr const char* name = "min";
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return b < a || b != b ? b : a;
    return b < a ? b : a;
  }
};

/// The largest value; a NaN on any rank wins.
struct Max {
  static constexpr const char* name = "max";
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return b > a || b != b ? b : a;
    return b > a ? b : a;
  }
};

template <class Op>
concept ReductionOp = std::same_as<Op, Sum> || std::same_as<Op, Min> || std::same_as<Op, Max>;

/// In which order ranks are combined.
struct Order {
  /// ((r0 + r1) + r2) + ..., element by element: the same bits at any position, in any block, on every
  /// backend.
  struct rank {};
  /// Whatever the backend's own reduction does; equal on all ranks.
  struct backend {};
};

template <class O>
concept ReductionOrder = std::same_as<O, Order::rank> || std::same_as<O, Order::backend>;

/// The type in which elements are combined: 16-bit floating-point numbers as float, rounded once at the end.
template <Communicable T>
using reduction_t = std::conditional_t<std::same_as<T, bf16> || std::same_as<T, fp16>, float, T>;

/// Element buffers of several ranks or copies, all to be entered at the same element.
template <class Byte>
struct Buffers {
  Byte* const* data;
  int count;
  std::size_t first_element;
};

/// Combines `elements` elements of all `inputs`, in their order, and writes the result to each of `outputs`.
/// An output may be one of the inputs, entered at the same place.
template <Communicable T, ReductionOp Op>
void reduce_in_order(Buffers<const std::byte> inputs, Buffers<std::byte> outputs, std::size_t elements) {
  constexpr std::size_t block = 1024;  // partial results stay in the first-level cache
  const auto input = [&](int i) { return reinterpret_cast<const T*>(inputs.data[i]) + inputs.first_element; };
  const auto output = [&](int i) { return reinterpret_cast<T*>(outputs.data[i]) + outputs.first_element; };

  alignas(64) reduction_t<T> partial[block];
  for (std::size_t begin = 0; begin < elements; begin += block) {
    const std::size_t n = elements - begin < block ? elements - begin : block;
    const T* first = input(0) + begin;
    for (std::size_t i = 0; i < n; ++i) partial[i] = static_cast<reduction_t<T>>(first[i]);
    for (int k = 1; k < inputs.count; ++k) {
      const T* next = input(k) + begin;
      for (std::size_t i = 0; i < n; ++i) partial[i] = Op{}(partial[i], static_cast<reduction_t<T>>(next[i]));
    }
    if constexpr (std::same_as<T, reduction_t<T>>) {
      for (int k = 0; k < outputs.count; ++k) std::memcpy(output(k) + begin, partial, n * sizeof(T));
    } else {
      alignas(64) T rounded[block];
      for (std::size_t i = 0; i < n; ++i) rounded[i] = T(partial[i]);
      for (int k = 0; k < outputs.count; ++k) std::memcpy(output(k) + begin, rounded, n * sizeof(T));
    }
  }
}

/// `reduce_in_order` with its types forgotten, so that a backend's machinery is compiled once.
using Reduction = void (*)(Buffers<const std::byte> inputs, Buffers<std::byte> outputs, std::size_t elements);

}  // namespace triax
