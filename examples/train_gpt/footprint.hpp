// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a run takes: bytes on a rank and traffic in a step, planned and measured.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <triax/triax.hpp>

#include "json.hpp"

namespace train_gpt {

/// The bytes that a rank sends in a step, by the axes of the groups.
struct StepTraffic {
  std::uint64_t dp = 0, pp = 0, mesh = 0;

  std::uint64_t total() const { return dp + pp + mesh; }
  void add(const std::string& group, std::uint64_t bytes) {
    (group == "dp" ? dp : group == "pp" ? pp : mesh) += bytes;
  }
};

struct RankFootprint {
  triax::RankBytes bytes;
  StepTraffic traffic;
};

/// The bytes of the rank that holds most, and the traffic of the rank that sends most.
struct Footprint {
  triax::RankBytes bytes_per_rank;
  StepTraffic traffic_per_step;

  void consider(const RankFootprint& rank) {
    if (rank.bytes.total() > bytes_per_rank.total()) bytes_per_rank = rank.bytes;
    if (rank.traffic.total() > traffic_per_step.total()) traffic_per_step = rank.traffic;
  }
  void write_to(JsonObject& object) const {
    object.add("bytes_per_rank", JsonObject()
                                     .add("parameters", bytes_per_rank.parameters)
                                     .add("gradients", bytes_per_rank.gradients)
                                     .add("optimizer", bytes_per_rank.optimizer)
                                     .add("buffers", bytes_per_rank.buffers)
                                     .add("activations", bytes_per_rank.activations));
    object.add("traffic_per_step", JsonObject()
                                       .add("dp", traffic_per_step.dp)
                                       .add("pp", traffic_per_step.pp)
                                       .add("mesh", traffic_per_step.mesh));
  }
};

/// What all ranks have measured. Collective over `control`.
template <class Communicator>
Footprint gather_footprint(const RankFootprint& own, Communicator& control) {
  const auto& [bytes, traffic] = own;
  const std::array<std::uint64_t, 8> numbers{bytes.parameters, bytes.gradients,   bytes.optimizer,
                                             bytes.buffers,    bytes.activations, traffic.dp,
                                             traffic.pp,       traffic.mesh};
  const std::vector<std::int64_t> message(numbers.begin(), numbers.end());
  std::vector<std::int64_t> all(message.size() * static_cast<std::size_t>(control.size()));
  control.all_gather(std::span<const std::int64_t>(message), std::span(all)).wait();

  const std::vector<std::uint64_t> n(all.begin(), all.end());
  Footprint footprint;
  for (std::size_t i = 0; i < n.size(); i += numbers.size())
    footprint.consider({{n[i], n[i + 1], n[i + 2], n[i + 3], n[i + 4]}, {n[i + 5], n[i + 6], n[i + 7]}});
  return footprint;
}

/// What the plan says of a whole mesh.
struct GptPlan {
  Footprint footprint;
  double model_flops =
      0;  ///< of products and attention in a step, on all ranks, for the model FLOPs utilisation
  double executed_flops = 0;  ///< of all that is launched in a step
  double bubble = 0;          ///< idle share of the pipeline
};

}  // namespace train_gpt
