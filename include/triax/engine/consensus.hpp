// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Whether all ranks were given the same: what differs here would end in a wait for ever, or in replicas that
// drift apart.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/core/error.hpp>
#include <triax/core/random.hpp>
#include <triax/engine/blueprint.hpp>

namespace triax {

/// What to do when the replicas of a parameter would start from different values.
enum class Replicas : std::uint8_t {
  follow,  ///< all take the initialiser and the seed of rank 0
  check,   ///< a MismatchError that names the parameter
};

/// The place of the first of `values` that is not the same on all ranks, or -1. Every rank brings equally
/// many. Collective over `world`.
template <class Communicator>
int first_difference(Communicator& world, std::vector<std::int64_t> values) {
  std::vector<std::int64_t> least = values;
  world.all_reduce(std::span(least), Min{}, Order::rank{}).wait();
  world.all_reduce(std::span(values), Max{}, Order::rank{}).wait();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (least[i] != values[i]) return static_cast<int>(i);
  return -1;
}

/// Compares the shape of the batch and the strategy over all ranks of `world`. Throws, on every rank,
/// ShapeError or MismatchError with the first difference.
template <class Communicator>
void agree_on_settings(const StepSettings& settings, const BatchShape& shape, int optimizer_states,
                       Communicator& world) {
  if (world.size() == 1) return;
  const std::array sizes{shape.sequences, shape.tokens, shape.input_features, shape.target_features};
  if (first_difference(world, {sizes.begin(), sizes.end()}) >= 0)
    throw ShapeError(
        "every rank must bring the same number of sequences, tokens and features, but they differ: rank " +
        std::to_string(world.rank()) + " brought " + to_string(shape) + "; pad with sequences of weight 0");

  struct Setting {
    const char* name;
    std::int64_t value;
  };
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const std::array all{
      Setting{"the number of micro-batches", settings.micro_batches},
      Setting{"the schedule", static_cast<std::int64_t>(hash(settings.schedule.name) >> 1)},
      Setting{"the sharding of optimizer state", settings.sharding.state},
      Setting{"the sharding of gradients", settings.sharding.gradients},
      Setting{"the sharding of parameters", settings.sharding.parameters},
      Setting{"the size of buckets", number(settings.bucketing.bytes)},
      Setting{"the size of the first bucket", number(settings.bucketing.first_bytes)},
      Setting{"the number of the optimizer's states", optimizer_states},
  };
  std::vector<std::int64_t> values;
  for (const Setting& setting : all) values.push_back(setting.value);
  if (const int index = first_difference(world, values); index >= 0)
    throw MismatchError(
        std::string("the ranks were given different strategies or optimizers: they differ in ") +
        all[static_cast<std::size_t>(index)].name + "; construct the same model on every rank");
}

/// The seed with which all ranks of `world` go on: rank 0's. Throws MismatchError on every rank when they
/// differ and that is to be checked.
template <class Communicator>
std::uint64_t agree_on_seed(std::uint64_t seed, Communicator& world, Replicas replicas) {
  if (world.size() == 1) return seed;
  auto common = std::bit_cast<std::int64_t>(seed);
  if (replicas == Replicas::check && first_difference(world, {common}) >= 0)
    throw MismatchError("the ranks were given different seeds, rank " + std::to_string(world.rank()) +
                        " was given " + std::to_string(seed) +
                        "; give every rank the same, or use Replicas::follow");
  world.broadcast(std::span(&common, 1), 0).wait();
  return std::bit_cast<std::uint64_t>(common);
}

}  // namespace triax
