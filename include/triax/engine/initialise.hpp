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
#include <triax/engine/consensus.hpp>
#include <triax/engine/layout.hpp>
#include <triax/nn/parameter.hpp>

namespace triax {

/// The initial value of element `index` of the parameter called `name`: a pure function, so it does not
/// depend on the layout. `index` is global and row-major.
class InitialValues {
 public:
  InitialValues(const Initialiser& initialiser, std::string_view name, std::uint64_t seed)
      : initialiser_(initialiser), key_(hash(name) ^ (seed * 0x9e3779b97f4a7c15ULL)) {}

  float operator()(std::int64_t index) const {
    switch (initialiser_.kind) {
      case Initialiser::Kind::constant:
        return initialiser_.location;
      case Initialiser::Kind::uniform: {
        const auto bits = philox(static_cast<std::uint64_t>(index), 0, key_);
        return initialiser_.location + initialiser_.scale * to_unit(bits[0]);
      }
      case Initialiser::Kind::normal:
        break;
    }
    const auto bits = philox(static_cast<std::uint64_t>(index), 0, key_);
    return initialiser_.location + initialiser_.scale * to_normal(bits[0], bits[1]);
  }

 private:
  Initialiser initialiser_;
  std::uint64_t key_;
};

namespace detail {

/// A number that two declarations share only if they are alike, apart from their initialisers.
inline std::int64_t digest(const PlacedParameter& parameter) {
  const Parameter& declared = parameter.declared;
  std::string text = parameter.path + to_string(declared.shape) + declared.tie;
  for (const int property :
       {int{declared.frozen}, int{declared.decay}, int{declared.experts}, declared.split.dimension,
        declared.split.sections, static_cast<int>(declared.kind)})
    text += ' ' + std::to_string(property);
  return static_cast<std::int64_t>(hash(text) >> 1);
}

}  // namespace detail

/// Compares what all ranks of `world` declare: the same parameters, cut into the same pipeline stages, with
/// the same initialisers. Throws MismatchError on every rank, naming the first parameter that differs. With
/// Replicas::follow, rank 0's initialisers are written to `layout` instead.
template <class Communicator>
void agree_on_parameters(ModelLayout& layout, Communicator& world, Replicas replicas) {
  if (world.size() == 1) return;
  const auto count = static_cast<std::int64_t>(layout.parameters.size());
  if (first_difference(world, {count}) >= 0)
    throw MismatchError("the ranks' models declare different numbers of parameters, this rank's " +
                        std::to_string(count) + "; construct the same model on every rank");
  std::vector<std::int64_t> declared;
  std::vector<float> initialisers;
  for (const PlacedParameter& parameter : layout.parameters) {
    const Initialiser& init = parameter.declared.init;
    declared.push_back(detail::digest(parameter));
    initialisers.insert(initialisers.end(), {static_cast<float>(init.kind), init.location, init.scale});
  }
  if (const int index = first_difference(world, declared); index >= 0)
    throw MismatchError("the ranks' models differ in parameter " +
                        layout.parameters[static_cast<std::size_t>(index)].path +
                        ": its name, shape, tie or another property is not the same on every rank");
  if (first_difference(world, {layout.stage_bounds.begin(), layout.stage_bounds.end()}) >= 0)
    throw MismatchError(
        "the ranks would cut the model into different pipeline stages, because their layers differ in cost;"
        " construct the same model on every rank");
  if (replicas == Replicas::check) {
    std::vector<std::int64_t> bits;
    for (const float value : initialisers) bits.push_back(std::bit_cast<std::int32_t>(value));
    if (const int index = first_difference(world, bits); index >= 0)
      throw MismatchError(
          "the ranks would start parameter " + layout.parameters[static_cast<std::size_t>(index) / 3].path +
          " from different values; construct the same model on every rank, or use Replicas::follow");
  }
  world.broadcast(std::span(initialisers), 0).wait();
  for (std::size_t i = 0; i < layout.parameters.size(); ++i)
    layout.parameters[i].declared.init = {static_cast<Initialiser::Kind>(initialisers[3 * i]),
                                          initialisers[3 * i + 1], initialisers[3 * i + 2]};
}

}  // namespace triax
