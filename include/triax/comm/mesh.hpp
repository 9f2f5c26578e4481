// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A world of ranks, arranged along the axes of parallelism.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/comm/concat.hpp>
#include <triax/comm/extents.hpp>
#include <triax/comm/ledger.hpp>

namespace triax {

/// What a rank sent in one group of a mesh.
struct GroupTraffic {
  std::string name;  ///< the group's axes, such as "dp" or "dp+cp"; "mesh" for the whole world
  Ledger ledger;
};

/// The ranks of `World`, numbered with tp fastest, then cp, ep, dp, and pp slowest. `Fixed` holds the extents
/// that are known at compile time; the others are `dynamic`.
///
///   Mesh mesh(world, {.dp = 2, .pp = automatic});
///   Mesh mesh(world, extents<Extents{.dp = 2, .pp = 2}>);
///   Mesh mesh(world, extents<Extents{.dp = dynamic, .pp = 2}>, {.dp = 4});
///
/// Construction is collective. It throws ConfigError, before any communicator is made, if the product of the
/// extents is not the size of the world.
template <WorldCommunicator World, Extents Fixed = run_time_extents>
class Mesh {
  static_assert(!has(Fixed, automatic), "an extent that is fixed in a mesh's type cannot be automatic");

 public:
  using communicator = World;
  static constexpr Extents fixed = Fixed;

  Mesh(World world, const Extents& extents)
    requires(Fixed == run_time_extents)
      : Mesh(Resolved{}, std::move(world), extents) {}
  Mesh(World world, FixedExtents<Fixed>)
    requires(!has(Fixed, dynamic))
      : Mesh(Resolved{}, std::move(world), Fixed) {}
  Mesh(World world, FixedExtents<Fixed>, const Extents& dynamic_extents)
      : Mesh(Resolved{}, std::move(world), complete(Fixed, dynamic_extents)) {}

  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  Extents extents() const { return extents_; }
  int extent(Axis axis) const { return extents_[axis]; }
  Coordinates coordinates() const { return coordinates_; }
  int coordinate(Axis axis) const { return coordinates_[axis]; }

  /// The rank in the world of the one at `coordinates`. Throws ConfigError outside the mesh.
  int rank_of(const Coordinates& coordinates) const {
    int rank = 0, stride = 1;
    for_each_axis([&](Axis axis) {
      if (coordinates[axis] < 0 || coordinates[axis] >= extents_[axis]) {
        throw ConfigError(detail::concat("there is no coordinate ", name(axis), "=", coordinates[axis],
                                         " on a mesh with ", name(axis), "=", extents_[axis]));
      }
      rank += coordinates[axis] * stride;
      stride *= extents_[axis];
    });
    return rank;
  }

  World& world() { return world_; }

  /// The ranks that differ from this one along `axes` only, in the mesh's order. Collective over the mesh on
  /// first use.
  World& group(Axes axes) {
    std::optional<World>& group = groups_[axes.index()];
    if (!group) {
      int color = 0, stride = 1;  // the same for ranks that agree on all other axes
      for_each_axis([&](Axis axis) {
        if (axes.contains(axis)) return;
        color += coordinates_[axis] * stride;
        stride *= extents_[axis];
      });
      group.emplace(world_.split(color, world_.rank()));
      made_.push_back(axes);
    }
    return *group;
  }

  /// All ranks once more, with messages apart from the training's: for set-up, checkpoints and errors.
  /// Buffers on the host.
  World& control() { return control_; }

  /// What this rank has sent since the last reset, by group, in the order in which the groups were made, then
  /// in the world.
  std::vector<GroupTraffic> traffic() const
    requires requires(const World& world) { world.ledger(); }
  {
    std::vector<GroupTraffic> result;
    for (const Axes axes : made_) result.push_back({name(axes), groups_[axes.index()]->ledger()});
    result.push_back({"mesh", world_.ledger()});
    return result;
  }
  void reset_traffic()
    requires requires(World& world) { world.reset(); }
  {
    for (const Axes axes : made_) groups_[axes.index()]->reset();
    world_.reset();
  }

 private:
  struct Resolved {};

  Mesh(Resolved, World world, const Extents& wanted)
      : world_(std::move(world)),
        extents_(resolve(wanted, world_.size())),
        control_(world_.split(0, world_.rank())) {
    int rest = world_.rank();
    for_each_axis([&](Axis axis) {
      coordinates_[axis] = rest % extents_[axis];
      rest /= extents_[axis];
    });
  }

  /// From the fastest axis to the slowest.
  template <class F>
  static void for_each_axis(F&& f) {
    for (int axis = 0; axis < axis_count; ++axis) f(static_cast<Axis>(axis));
  }

  World world_;
  Extents extents_;
  World control_;
  Coordinates coordinates_;
  std::array<std::optional<World>, axes_count> groups_;
  std::vector<Axes> made_;
};

template <class World>
Mesh(World, Extents) -> Mesh<World>;
template <class World, Extents Fixed>
Mesh(World, FixedExtents<Fixed>) -> Mesh<World, Fixed>;
template <class World, Extents Fixed>
Mesh(World, FixedExtents<Fixed>, Extents) -> Mesh<World, Fixed>;

}  // namespace triax
