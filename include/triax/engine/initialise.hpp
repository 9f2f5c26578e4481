// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The values that parameters start with.

#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/core/bytes.hpp>
#include <triax/core/error.hpp>
#include <triax/core/random.hpp>
#include <triax/engine/layout.hpp>
#include <triax/nn/parameter.hpp>

namespace triax {

/// The initial value of element `index` of the parameter called `name`: a pure function, so it does not depend on the
/// layout. `index` is global and row-major.
class InitialValues {
 public:
  InitialValues(const Initialiser& initialiser, std::string_view name, std::uint64_t seed)
      : initialiser_(initialiser), key_(hash(name) ^ (seed * 0x9e3779b97f4a7c15ULL)) {}

  float operator()(std::int64_t index) const {
    switch (initialiser_.kind) {
      case Initialiser::Kind::constant: return initialiser_.location;
      case Initialiser::Kind::uniform: {
        const auto bits = philox(static_cast<std::uint64_t>(index), 0, key_);
        return initialiser_.location + initialiser_.scale * to_unit(bits[0]);
      }
      case Initialiser::Kind::normal: break;
    }
    const auto bits = philox(static_cast<std::uint64_t>(index), 0, key_);
    return initialiser_.location + initialiser_.scale * to_normal(bits[0], bits[1]);
  }

 private:
  Initialiser initialiser_;
  std::uint64_t key_;
};

/// What to do when the replicas of a parameter would start from different values.
enum class Replicas : std::uint8_t {
  follow,  ///< all take the initialiser of the group's rank 0
  check,   ///< a MismatchError that names the parameter
};

/// Compares what all ranks of `world` declare: the same parameters with the same shapes, and, over the same mesh
/// coordinates, the same initialisers. Throws MismatchError on every rank, naming the first parameter that differs.
/// With Replicas::follow, rank 0's initialisers are written to `layout` instead.
template <class Communicator>
void agree_on_parameters(ModelLayout& layout, Communicator& world, Replicas replicas) {
  if (world.size() == 1) return;
  const auto differs = [&](std::vector<std::int64_t> values) {
    std::vector<std::int64_t> least = values;
    world.all_reduce(std::span(least), Min{}, Order::rank{}).wait();
    world.all_reduce(std::span(values), Max{}, Order::rank{}).wait();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (least[i] != values[i]) return static_cast<int>(i);
    return -1;
  };
  const auto count = static_cast<std::int64_t>(layout.parameters.size());
  if (differs({count}) >= 0)
    throw MismatchError("the ranks' models declare different numbers of parameters, this rank's " + std::to_string(count) +
                        "; construct the same model on every rank");
  std::vector<std::int64_t> declared;
  std::vector<float> initialisers;
  for (const PlacedParameter& parameter : layout.parameters) {
    const Initialiser& init = parameter.declared.init;
    declared.push_back(static_cast<std::int64_t>(
        hash(parameter.path + to_string(parameter.declared.shape) + parameter.declared.tie) >> 1));
    initialisers.insert(initialisers.end(), {static_cast<float>(init.kind), init.location, init.scale});
  }
  if (const int index = differs(declared); index >= 0)
    throw MismatchError("the ranks' models differ in parameter " + layout.parameters[static_cast<std::size_t>(index)].path +
                        ": its name, shape or tie is not the same on every rank");
  if (replicas == Replicas::check) {
    std::vector<std::int64_t> bits;
    for (const float value : initialisers) bits.push_back(std::bit_cast<std::int32_t>(value));
    if (const int index = differs(bits); index >= 0)
      throw MismatchError("the ranks would start parameter " +
                          layout.parameters[static_cast<std::size_t>(index) / 3].path +
                          " from different values; construct the same model on every rank, or use Replicas::follow");
  }
  world.broadcast(std::span(initialisers), 0).wait();
  for (std::size_t i = 0; i < layout.parameters.size(); ++i)
    layout.parameters[i].declared.init = {static_cast<Initialiser::Kind>(initialisers[3 * i]), initialisers[3 * i + 1],
                                          initialisers[3 * i + 2]};
}

}  // namespace triax
