// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A chunk's memory on this rank.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <triax/core/float16.hpp>
#include <triax/engine/layout.hpp>
#include <triax/engine/sharding.hpp>
#include <triax/nn/context.hpp>
#include <triax/optim/optimizer.hpp>

namespace triax {

/// What a communicator's operations return.
template <class Communicator>
using request_t = decltype(std::declval<Communicator&>().all_reduce(std::span<float>{}));

/// The elements [first, first + size) of a chunk.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t size = 0;
};

/// The part of `a` that lies in `b`.
constexpr ElementRange intersect(ElementRange a, ElementRange b) {
  const std::int64_t first = a.first > b.first ? a.first : b.first;
  const std::int64_t end_a = a.first + a.size;
  const std::int64_t end_b = b.first + b.size;
  const std::int64_t end = end_a < end_b ? end_a : end_b;
  return {first, end > first ? end - first : 0};
}

/// A chunk as this rank holds it. Pointers that a sharding stage or a frozen parameter makes superfluous are
/// null.
template <ComputeType T, class Communicator>
struct Chunk {
  struct Bound {
    Binding<T>* binding;  ///< of the unit that uses the parameter
    int parameter;        ///< index into ModelLayout::parameters
    std::int64_t offset;
  };

  const ChunkShape* shape = nullptr;
  Communicator* group = nullptr;
  ShardingFlags sharded{};    ///< all false in a group of one rank
  T* values = nullptr;        ///< all elements; of a parameter-sharded chunk the slice alone
  float* gradient = nullptr;  ///< all elements, unless gradients are sharded
  float* owned = nullptr;     ///< the reduced gradient's owned slice, while gradients are sharded
  float* master = nullptr;    ///< fp32 weights of the updated range; in fp32 they are the values themselves
  std::array<float*, max_optimizer_states> state{};  ///< optimizer state of the updated range
  std::vector<Bound> bound{};

  std::int64_t size() const { return shape->size; }
  /// The slice that this rank owns: what it counts in norms, whatever the sharding.
  ElementRange slice() const { return {group->rank() * shape->slice(), shape->slice()}; }
  /// What this rank updates: its slice, or everything where nothing is sharded.
  ElementRange updated() const { return sharded.state ? slice() : ElementRange{0, shape->size}; }
  /// The reduced gradient of element `first`, which lies in the updated range.
  float* reduced_gradient(std::int64_t first) const {
    return sharded.gradients ? owned + (first - slice().first) : gradient + first;
  }
  /// This rank's slice of the values.
  T* owned_values() const { return sharded.parameters ? values : values + slice().first; }
  /// The values of the updated range.
  T* updated_values() const { return sharded.parameters ? values : values + updated().first; }

  void bind_values(T* base) const {
    for (const Bound& parameter : bound) parameter.binding->value = base + parameter.offset;
  }
  void bind_gradient(float* base) const {
    for (const Bound& parameter : bound)
      parameter.binding->gradient = base ? base + parameter.offset : nullptr;
  }
};

}  // namespace triax
