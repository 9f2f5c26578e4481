// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Parameters by name: their initial values, and reading and writing them as if they were in one place.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/comm/extents.hpp>
#include <triax/core/error.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/engine/initialise.hpp>

namespace triax {

/// Access to a Machine's parameters from the host. Reading is collective over the mesh: every rank gets the
/// whole, unpadded parameter, whatever the layout.
template <class MachineType, class MeshType>
class ParameterAccess {
 public:
  ParameterAccess(MachineType& machine, MeshType& mesh) : machine_(machine), mesh_(mesh) {}

  /// Gives every parameter its initial values.
  void initialise(std::uint64_t seed) {
    each_local([&](ChunkType& chunk, const Bound& bound, const PlacedParameter& parameter) {
      const InitialValues values(parameter.declared.init, parameter.random_name(), seed);
      write(chunk, bound, values);
    });
  }

  /// The fp32 master values of a parameter.
  std::vector<float> values(std::string_view path) {
    return gather(path, [](const ChunkType& chunk, std::int64_t element) {
      if (chunk.master) return chunk.master[element - chunk.updated().first];
      return static_cast<float>(chunk.values[element - (chunk.sharded.parameters ? chunk.slice().first : 0)]);
    });
  }
  /// Every rank takes rank 0's values. Throws ShapeError when `values` has another number of elements than
  /// the parameter.
  void set(std::string_view path, std::span<const float> given) {
    const PlacedParameter& wanted = find(path);
    if (static_cast<std::int64_t>(given.size()) != wanted.local.size())
      throw ShapeError("parameter " + wanted.path + " has " + std::to_string(wanted.local.size()) +
                       " elements, but " + std::to_string(given.size()) + " were given");
    std::vector<float> values(given.begin(), given.end());
    mesh_.control().broadcast(std::span(values), 0).wait();
    each_local([&](ChunkType& chunk, const Bound& bound, const PlacedParameter& parameter) {
      const bool tied = !wanted.declared.tie.empty() && parameter.declared.tie == wanted.declared.tie;
      if (&parameter == &wanted || tied)
        write(chunk, bound, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    });
  }
  /// The gradient without the loss scale. Throws Error for a parameter that is not trained.
  std::vector<float> gradient(std::string_view path) {
    if (!find(path).trained())
      throw Error("parameter " + std::string(path) + " is not trained: it has no gradient");
    const float scale = machine_.state->gradient_scale;
    return gather(path, [scale](const ChunkType& chunk, std::int64_t element) {
      return *chunk.reduced_gradient(element) / scale;
    });
  }
  std::vector<float> optimizer_state(std::string_view path, int index) {
    const auto place = static_cast<std::size_t>(index);
    const bool present = find(path).trained() && place < max_optimizer_states;
    if (!present) return {};
    return gather(path, [place](const ChunkType& chunk, std::int64_t element) {
      return chunk.state[place] ? chunk.state[place][element - chunk.updated().first] : 0.0F;
    });
  }
  std::int64_t step_count(std::string_view path) {
    const auto index = static_cast<int>(&find(path) - layout().parameters.data());
    std::int64_t count = machine_.updater.step_count(index)[0];
    return count < 0 ? -count : count;
  }

 private:
  using ChunkType = typename MachineType::ChunkType;
  using Bound = typename ChunkType::Bound;
  using T = std::remove_pointer_t<decltype(ChunkType::values)>;

  ModelLayout& layout() { return machine_.blueprint.layout; }
  const PlacedParameter& find(std::string_view path) {
    for (const PlacedParameter& parameter : layout().parameters)
      if (parameter.path == path) return parameter;
    throw Error("the model has no parameter called '" + std::string(path) +
                "'; parameter_paths() lists them");
  }
  template <class F>
  void each_local(F f) {
    for (ChunkType& chunk : machine_.chunks)
      for (const Bound& bound : chunk.bound)
        f(chunk, bound, layout().parameters[static_cast<std::size_t>(bound.parameter)]);
  }

  /// Writes value(i), i an index into the parameter, to the values and masters that this rank holds.
  template <class Value>
  static void write(ChunkType& chunk, const Bound& bound, const Value& value) {
    const ElementRange all{bound.offset, bound.binding->shape.size()};
    const std::int64_t values_first = chunk.sharded.parameters ? chunk.slice().first : 0;
    const ElementRange held = chunk.sharded.parameters ? chunk.slice() : ElementRange{0, chunk.size()};
    const ElementRange mine = intersect(all, held);
    for (std::int64_t i = mine.first; i < mine.first + mine.size; ++i)
      chunk.values[i - values_first] = static_cast<T>(value(i - bound.offset));
    if (std::is_same_v<T, float> || !chunk.master) return;
    const ElementRange updated = intersect(all, chunk.updated());
    for (std::int64_t i = updated.first; i < updated.first + updated.size; ++i)
      chunk.master[i - chunk.updated().first] = value(i - bound.offset);
  }

  /// Each element is read by the rank that owns it; the parts are put together by adding them to zeros.
  template <class Read>
  std::vector<float> gather(std::string_view path, Read read) {
    const PlacedParameter& wanted = find(path);
    std::vector<float> values(static_cast<std::size_t>(wanted.local.size()), 0.0F);
    each_local([&](ChunkType& chunk, const Bound& bound, const PlacedParameter& parameter) {
      if (&parameter != &wanted) return;
      const ElementRange mine = intersect({bound.offset, wanted.local.size()}, chunk.slice());
      for (std::int64_t i = mine.first; i < mine.first + mine.size; ++i)
        values[static_cast<std::size_t>(i - bound.offset)] = read(chunk, i);
    });
    // Ranks that hold a copy of the same slice agree on its bits: one of them speaks.
    if (mesh_.coordinate(Axis::tp) != 0) values.assign(values.size(), 0.0F);
    mesh_.control().all_reduce(std::span(values), Sum{}, Order::rank{}).wait();
    return values;
  }

  MachineType& machine_;
  MeshType& mesh_;
};

}  // namespace triax
