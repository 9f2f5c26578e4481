// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where every parameter of a model stands: its unit, its chunk and its place in the chunk. Shapes only; the
// same on every rank.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <triax/comm/extents.hpp>
#include <triax/core/bytes.hpp>
#include <triax/core/error.hpp>
#include <triax/engine/units.hpp>
#include <triax/nn/parameter.hpp>

namespace triax {

/// One parameter of the model. `path` is "<entry>.<copy>.<name>", unique in the model.
struct PlacedParameter {
  Parameter declared;
  std::string path;
  int unit = 0;
  Shape local{};            ///< this rank's part
  int chunk = 0;            ///< index into ModelLayout::chunks
  std::int64_t offset = 0;  ///< first element in the chunk

  bool trained() const { return !declared.frozen && declared.kind == ParameterKind::trained; }
  bool written() const { return declared.kind == ParameterKind::state; }
  /// What keys the parameter's initial values: copies of one tied parameter start equal.
  const std::string& random_name() const { return declared.tie.empty() ? path : declared.tie; }
};

/// A padded contiguous range of parameters that one collective moves.
struct ChunkShape {
  int first_unit = 0;  ///< the units whose parameters it holds, a contiguous range of one stage
  int last_unit = 0;
  Axes group{};   ///< the axes over which it is copied and its gradient is partial
  int ranks = 1;  ///< of that group
  bool trained = true;
  bool written = false;           ///< by layers (ParameterKind::state): every rank holds all of it
  std::string tie{};              ///< a tied parameter is a chunk of its own
  std::int64_t size = 0;          ///< elements, a multiple of ranks
  std::vector<int> parameters{};  ///< indices into ModelLayout::parameters

  /// The elements that each rank of the group owns.
  std::int64_t slice() const { return size / ranks; }
};

/// The whole model's parameters and chunks, in model order.
struct ModelLayout {
  std::vector<PlacedParameter> parameters;
  std::vector<ChunkShape> chunks;
  std::vector<int> first_parameter;  ///< of each unit, and the end
  std::vector<int> stage_bounds;     ///< stage s holds units [stage_bounds[s], stage_bounds[s + 1])

  int stage_of(int unit) const {
    int stage = 0;
    while (stage_bounds[static_cast<std::size_t>(stage) + 1] <= unit) ++stage;
    return stage;
  }
};

/// How parameters are put together into chunks.
struct Bucketing {
  std::size_t bytes = 25U << 20;       ///< a bucket is closed once its gradients reach this size
  std::size_t first_bytes = 1U << 20;  ///< the same for the bucket whose gradients are ready first
  bool per_unit = false;               ///< one chunk a unit: the grain of parameter gathers
};

/// Every parameter and every slice starts on a boundary of this many elements: 64 bytes in 16-bit types.
inline constexpr std::int64_t chunk_alignment = 32;

/// This rank's part of a parameter's shape under tensor parallelism of `tp` ranks. Throws ConfigError when it
/// does not divide.
inline Shape local_shape(const PlacedParameter& parameter, int tp) {
  const Split split = parameter.declared.split;
  if (split.dimension < 0 || tp == 1) return parameter.declared.shape;
  const std::int64_t extent = parameter.declared.shape[split.dimension];
  if (extent % (static_cast<std::int64_t>(tp) * split.sections) != 0)
    throw ConfigError("parameter " + parameter.path + " of shape " + to_string(parameter.declared.shape) +
                      " does not divide over " + std::to_string(tp) + " tensor-parallel ranks");
  return parameter.declared.shape.with(split.dimension, extent / tp);
}

namespace detail {

/// The axes over which a parameter is copied while its gradient is partial; axes of extent 1 are left out,
/// unless none would remain.
inline Axes replica_group(const Parameter& parameter, const Extents& extents) {
  Axes group;
  for (const Axis axis : {Axis::dp, Axis::cp, Axis::ep})
    if (extents[axis] > 1 && !(axis == Axis::ep && parameter.experts)) group = group | axis;
  return group.empty() ? Axes(Axis::dp) : group;
}

inline int group_size(Axes group, const Extents& extents) {
  int size = 1;
  for (const Axis axis : axes_as_written)
    if (group.contains(axis)) size *= extents[axis];
  return size;
}

/// The bucket of every unit. Buckets are filled in the order in which gradients become ready, from a stage's
/// last unit to its first, and never cross a stage.
inline std::vector<int> bucket_of_units(const ModelLayout& layout, const Bucketing& bucketing) {
  const int units = static_cast<int>(layout.first_parameter.size()) - 1;
  std::vector<int> buckets(static_cast<std::size_t>(units));
  int bucket = 0;
  for (std::size_t stage = layout.stage_bounds.size() - 1; stage-- > 0; ++bucket) {
    std::size_t limit = bucketing.first_bytes < bucketing.bytes ? bucketing.first_bytes : bucketing.bytes;
    std::size_t bytes = 0;
    for (int unit = layout.stage_bounds[stage + 1]; unit-- > layout.stage_bounds[stage];) {
      if (bucketing.per_unit ? unit + 1 != layout.stage_bounds[stage + 1] : bytes >= limit) {
        ++bucket;
        limit = bytes >= limit ? bucketing.bytes : limit;
        bytes = 0;
      }
      buckets[static_cast<std::size_t>(unit)] = bucket;
      for (int i = layout.first_parameter[static_cast<std::size_t>(unit)];
           i < layout.first_parameter[static_cast<std::size_t>(unit) + 1]; ++i) {
        const PlacedParameter& parameter = layout.parameters[static_cast<std::size_t>(i)];
        const bool joins = parameter.trained() && parameter.declared.tie.empty();
        bytes += joins ? static_cast<std::size_t>(parameter.local.size()) * sizeof(float) : 0;
      }
    }
  }
  return buckets;
}

/// Throws ConfigError for what a layer forgot.
inline void check_declarations(const std::vector<PlacedParameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].declared.shape.rank() == 0)
      throw ConfigError("parameter " + parameters[i].path + " has no shape; a scalar has the shape {1}");
    for (std::size_t j = i; j-- > 0 && parameters[j].unit == parameters[i].unit;)
      if (parameters[j].path == parameters[i].path)
        throw ConfigError("a layer declares two parameters called " + parameters[i].path +
                          "; their names must differ, since initial values and access depend on them");
  }
}

inline void check_ties(const std::vector<PlacedParameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Parameter& a = parameters[j].declared;
      const Parameter& b = parameters[i].declared;
      if (a.tie.empty() || a.tie != b.tie) continue;
      const bool equal = a.shape == b.shape && a.split == b.split && a.init == b.init &&
                         a.frozen == b.frozen && a.decay == b.decay && a.experts == b.experts &&
                         a.kind == b.kind;
      if (!equal)
        throw ConfigError(
            "parameters " + parameters[j].path + " and " + parameters[i].path + " are tied as '" + a.tie +
            "', but differ in shape, split, initialiser or in how they are trained; declare them alike");
    }
  }
}

}  // namespace detail

/// The parameters of all units, in model order, with the shapes that a rank of `extents` holds. Chunks are
/// not yet set.
template <class Net>
ModelLayout declare_parameters(const Net& net, const Extents& extents) {
  ModelLayout layout;
  const std::vector<UnitPlace> places = unit_places(net);
  for (std::size_t unit = 0; unit < places.size(); ++unit) {
    layout.first_parameter.push_back(static_cast<int>(layout.parameters.size()));
    visit_entry(net, places[unit].entry, [&](const auto& layer, auto) {
      for (Parameter& parameter : layer.parameters()) {
        PlacedParameter placed;
        placed.path = std::to_string(places[unit].entry) + "." + std::to_string(places[unit].copy) + "." +
                      parameter.name;
        placed.declared = std::move(parameter);
        placed.unit = static_cast<int>(unit);
        placed.local = local_shape(placed, extents.tp);
        layout.parameters.push_back(std::move(placed));
      }
    });
  }
  layout.first_parameter.push_back(static_cast<int>(layout.parameters.size()));
  detail::check_declarations(layout.parameters);
  detail::check_ties(layout.parameters);
  return layout;
}

/// Puts the parameters of `layout` into chunks, for stages cut at `stage_bounds`.
inline void form_chunks(ModelLayout& layout, std::vector<int> stage_bounds, const Extents& extents,
                        const Bucketing& bucketing) {
  layout.stage_bounds = std::move(stage_bounds);
  const std::vector<int> buckets = detail::bucket_of_units(layout, bucketing);
  std::vector<int> bucket_of_chunk;
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    PlacedParameter& parameter = layout.parameters[i];
    const int bucket = buckets[static_cast<std::size_t>(parameter.unit)];
    const Axes group = detail::replica_group(parameter.declared, extents);
    std::size_t chunk = 0;
    for (; chunk < layout.chunks.size(); ++chunk) {
      const ChunkShape& other = layout.chunks[chunk];
      const bool untied = other.tie.empty() && parameter.declared.tie.empty();
      const bool alike = other.trained == parameter.trained() && other.written == parameter.written();
      if (bucket_of_chunk[chunk] == bucket && other.group == group && alike && untied) break;
    }
    if (chunk == layout.chunks.size()) {
      layout.chunks.push_back({.first_unit = parameter.unit,
                               .group = group,
                               .ranks = detail::group_size(group, extents),
                               .trained = parameter.trained(),
                               .written = parameter.written(),
                               .tie = parameter.declared.tie});
      bucket_of_chunk.push_back(bucket);
    }
    ChunkShape& shape = layout.chunks[chunk];
    parameter.chunk = static_cast<int>(chunk);
    parameter.offset = shape.size;
    shape.last_unit = parameter.unit;
    shape.parameters.push_back(static_cast<int>(i));
    shape.size += static_cast<std::int64_t>(round_up(static_cast<std::size_t>(parameter.local.size()),
                                                     static_cast<std::size_t>(chunk_alignment)));
  }
  for (ChunkShape& shape : layout.chunks)
    shape.size = static_cast<std::int64_t>(round_up(static_cast<std::size_t>(shape.size),
                                                    static_cast<std::size_t>(chunk_alignment * shape.ranks)));
}

}  // namespace triax
