// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a rank will hold, send and compute, before anything is allocated.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <triax/comm/mesh.hpp>
#include <triax/comm/traced.hpp>
#include <triax/core/bytes.hpp>
#include <triax/engine/agreement.hpp>
#include <triax/engine/blueprint.hpp>
#include <triax/engine/storage.hpp>
#include <triax/engine/token_count.hpp>
#include <triax/parallel/settings.hpp>
#include <triax/schedule/bubble.hpp>

namespace triax {

/// The messages and the volume of one operation on one group of ranks, in a step.
struct PlannedTraffic {
  std::string group;  ///< "dp", "pp", "dp+cp", ...; "mesh" for the whole mesh
  Operation operation{};
  Traffic traffic{};
};

/// The plan of one rank.
struct Plan {
  RankBytes bytes;
  ActivationBytes activations;  ///< what `bytes.activations` is made of
  ActivationTakes takes;        ///< of one micro-batch of the largest size, forward and backward
  int slots = 1;                ///< micro-batches in flight
  std::vector<PlannedTraffic> traffic;
  double model_flops = 0;         ///< of products and attention, in a step, without recomputation: for MFU
  double executed_flops = 0;      ///< of everything that is launched, in a step
  double bubble = 0;              ///< idle share of the pipeline, by the measured costs
  std::vector<int> stage_bounds;  ///< stage s holds units [stage_bounds[s], stage_bounds[s + 1])

  /// All operations of a group together.
  Traffic traffic_of(const std::string& group) const {
    Traffic sum{};
    for (const PlannedTraffic& entry : traffic) {
      if (entry.group != group) continue;
      sum.messages += entry.traffic.messages;
      sum.bytes += entry.traffic.bytes;
    }
    return sum;
  }
};

/// The place of a rank for which a plan is made.
struct PlanCoordinates {
  int pp = 0;
  int world = 0;  ///< the rank's number: volumes differ where a message does not divide evenly
};

namespace detail {

/// Collects the volumes of DESIGN's definition: what must leave a rank at the optimum.
class TrafficPlan {
 public:
  explicit TrafficPlan(std::vector<PlannedTraffic>& list) : list_(list) {}

  void all_reduce(const std::string& group, std::size_t elements, std::size_t bytes, int ranks, int rank) {
    const std::size_t block = share(elements, ranks, rank);
    note(group, Operation::all_reduce,
         (elements - block + static_cast<std::size_t>(ranks - 1) * block) * bytes, ranks);
  }
  void reduce_scatter(const std::string& group, std::size_t elements, std::size_t bytes, int ranks) {
    note(group, Operation::reduce_scatter, (elements - elements / static_cast<std::size_t>(ranks)) * bytes,
         ranks);
  }
  void all_gather(const std::string& group, std::size_t block, std::size_t bytes, int ranks) {
    note(group, Operation::all_gather, static_cast<std::size_t>(ranks - 1) * block * bytes, ranks);
  }
  void send(const std::string& group, std::size_t elements, std::size_t bytes) {
    note(group, Operation::send, elements * bytes, 2);
  }

 private:
  static std::size_t share(std::size_t elements, int ranks, int rank) {
    const auto d = static_cast<std::size_t>(ranks);
    return elements / d + (static_cast<std::size_t>(rank) < elements % d ? 1 : 0);
  }
  void note(const std::string& group, Operation operation, std::size_t bytes, int ranks) {
    if (ranks == 1) return;
    for (PlannedTraffic& entry : list_) {
      if (entry.group != group || entry.operation != operation) continue;
      ++entry.traffic.messages;
      entry.traffic.bytes += bytes;
      return;
    }
    list_.push_back({group, operation, {1, bytes}});
  }

  std::vector<PlannedTraffic>& list_;
};

/// Writes down the plan of one rank, from shapes, by arithmetic of its own: nothing here asks the engine's
/// parts.
template <ComputeType T, class Device>
class PlanWriter {
 public:
  PlanWriter(const Blueprint& blueprint, const StepSettings& settings, const Extents& extents,
             const PlanCoordinates& at, int optimizer_states)
      : blueprint_(blueprint), settings_(settings), extents_(extents), at_(at), states_(optimizer_states) {}

  Plan write() {
    Plan plan;
    plan.slots = blueprint_.slots();
    plan.activations = blueprint_.stage.activations;
    plan.takes = blueprint_.stage.takes;
    plan.bytes.activations = plan.activations.total(plan.slots);
    write_memory(plan.bytes);
    write_traffic(plan.traffic);
    const double micro_batches = blueprint_.table.micro_batches();
    const double share = static_cast<double>(blueprint_.shape.sequences) /
                         (static_cast<double>(blueprint_.micro_batch.sequences) * micro_batches);
    plan.model_flops = blueprint_.stage.product_flops * micro_batches * share;
    plan.executed_flops = blueprint_.stage.executed.flops * micro_batches * share;
    plan.stage_bounds = blueprint_.layout.stage_bounds;
    plan.bubble = dearest_bubble();
    return plan;
  }

 private:
  std::vector<const ChunkShape*> chunks() const {
    std::vector<const ChunkShape*> mine;
    for (const ChunkShape& chunk : blueprint_.layout.chunks)
      if (chunk.first_unit >= blueprint_.bounds.first_unit && chunk.first_unit < blueprint_.bounds.last_unit)
        mine.push_back(&chunk);
    return mine;
  }
  static std::size_t count(std::int64_t elements) { return static_cast<std::size_t>(elements); }
  static std::size_t padded(std::size_t bytes) { return round_up(bytes, Device::alignment); }
  bool shards_state(const ChunkShape& chunk) const {
    return settings_.sharding.state && chunk.ranks > 1 && chunk.trained;
  }
  bool shards_gradients(const ChunkShape& chunk) const {
    return settings_.sharding.gradients && chunk.ranks > 1 && chunk.trained;
  }
  bool shards_parameters(const ChunkShape& chunk) const {
    return settings_.sharding.parameters && chunk.ranks > 1 && !chunk.written;
  }
  std::int64_t updated(const ChunkShape& chunk) const {
    return shards_state(chunk) ? chunk.slice() : chunk.size;
  }

  void write_memory(RankBytes& bytes) const {
    constexpr bool separate_master = !std::is_same_v<T, float>;
    std::size_t largest_reduction = 0;
    for (const ChunkShape* chunk : chunks()) {
      bytes.parameters += sizeof(T) * count(shards_parameters(*chunk) ? chunk->slice() : chunk->size);
      if (!chunk->trained) continue;
      bytes.gradients += sizeof(float) * count(shards_gradients(*chunk) ? chunk->slice() : chunk->size);
      bytes.optimizer += sizeof(float) * count(updated(*chunk)) * count(states_ + (separate_master ? 1 : 0));
      if (shards_gradients(*chunk) && count(chunk->size) > largest_reduction)
        largest_reduction = count(chunk->size);
    }
    const std::size_t parameters = blueprint_.layout.parameters.size();
    bytes.buffers = 2 * padded(sizeof(StepState))                             // training and evaluation
                    + padded(sizeof(double) * count(TokenCountPlaces::size))  // the count
                    + padded(sizeof(double) * (1 + max_added_losses))         // an evaluation's losses
                    + padded(sizeof(double) * (count(AgreementPlaces::flags) + parameters)) +
                    padded(parameters + 1)                             // who asked for a gradient
                    + padded(sizeof(std::int32_t) * (parameters + 1))  // step counts
                    + reduction_buffers() * sizeof(float) * largest_reduction +
                    2 * sizeof(T) * largest_gather() +
                    2 * padded(sizeof(T) * count(blueprint_.bounds.stream_in.size())) + tie_bytes();
  }
  /// Chunks overlap where a tied parameter's lies between the units of another.
  std::size_t reduction_buffers() const {
    std::size_t most = 2;
    for (int unit = blueprint_.bounds.first_unit; unit < blueprint_.bounds.last_unit; ++unit) {
      std::size_t overlapping = 0;
      for (const ChunkShape* chunk : chunks())
        if (shards_gradients(*chunk) && unit >= chunk->first_unit && unit <= chunk->last_unit) ++overlapping;
      most = overlapping > most ? overlapping : most;
    }
    return most;
  }
  std::size_t largest_gather() const {
    std::size_t largest = 0;
    for (int unit = blueprint_.bounds.first_unit; unit < blueprint_.bounds.last_unit; ++unit) {
      std::size_t elements = 0;
      for (const ChunkShape* chunk : chunks())
        if (chunk->first_unit == unit && shards_parameters(*chunk)) elements += count(chunk->size);
      largest = elements > largest ? elements : largest;
    }
    return largest;
  }
  /// How many other stages hold the same tie.
  int remote_stages(const ChunkShape& chunk) const {
    const int stages = static_cast<int>(blueprint_.layout.stage_bounds.size()) - 1;
    int count = 0;
    for (int stage = 0; stage < stages; ++stage) {
      bool holds = false;
      for (const ChunkShape& other : blueprint_.layout.chunks)
        holds = holds || (other.tie == chunk.tie && blueprint_.layout.stage_of(other.first_unit) == stage);
      count += holds && stage != at_.pp ? 1 : 0;
    }
    return count;
  }
  /// Other stages' holders of the same tie.
  int remote_holders(const ChunkShape& chunk) const {
    int holders = 0;
    for (const ChunkShape& other : blueprint_.layout.chunks)
      holders += other.tie == chunk.tie && blueprint_.layout.stage_of(other.first_unit) != at_.pp ? 1 : 0;
    return holders;
  }
  std::size_t tie_bytes() const {
    std::size_t bytes = 0;
    std::vector<std::string> seen;
    for (const ChunkShape* chunk : chunks()) {
      bool known = chunk->tie.empty() || !chunk->trained;
      for (const std::string& tie : seen) known = known || tie == chunk->tie;
      if (known) continue;
      seen.push_back(chunk->tie);
      bytes += count(remote_holders(*chunk)) * sizeof(float) * count(updated(*chunk));
    }
    return bytes;
  }

  void write_traffic(std::vector<PlannedTraffic>& list) const {
    TrafficPlan traffic(list);
    const int world = extents_.product();
    const std::size_t message = count(AgreementPlaces::flags) + blueprint_.layout.parameters.size();
    traffic.all_reduce("mesh", count(TokenCountPlaces::size), sizeof(double), world, at_.world);
    traffic.all_reduce("mesh", message, sizeof(double), world, at_.world);
    for (const ChunkShape* chunk : chunks()) {
      const std::string group = name(chunk->group);
      if (chunk->trained) write_reductions(traffic, *chunk, group);
      if (shards_state(*chunk) && !shards_parameters(*chunk))
        traffic.all_gather(group, count(chunk->slice()), sizeof(T), chunk->ranks);
      if (chunk->tie.empty() || !chunk->trained) continue;
      for (int i = 0; i < remote_stages(*chunk); ++i)
        traffic.send("pp", count(updated(*chunk)), sizeof(float));
    }
    write_gathers(traffic);
    write_pipeline(traffic);
  }
  void write_reductions(TrafficPlan& traffic, const ChunkShape& chunk, const std::string& group) const {
    const int times = shards_gradients(chunk) ? blueprint_.table.micro_batches() : 1;
    for (int i = 0; i < times; ++i) {
      if (shards_state(chunk))
        traffic.reduce_scatter(group, count(chunk.size), sizeof(float), chunk.ranks);
      else
        traffic.all_reduce(group, count(chunk.size), sizeof(float), chunk.ranks, 0);
    }
  }
  /// Two buffers hold the last two units that were gathered; whatever is in neither must be gathered again.
  void write_gathers(TrafficPlan& traffic) const {
    int current = -1;
    int other = -1;
    const auto visit = [&](int unit) {
      if (unit == current) return;
      if (unit != other) {
        for (const ChunkShape* chunk : chunks())
          if (chunk->first_unit == unit && shards_parameters(*chunk))
            traffic.all_gather(name(chunk->group), count(chunk->slice()), sizeof(T), chunk->ranks);
      }
      other = current;
      current = unit;
    };
    for (const Action& action : blueprint_.table.actions(at_.pp)) {
      const int first = blueprint_.bounds.first_unit;
      const int last = blueprint_.bounds.last_unit;
      if (action.what == Do::forward)
        for (int unit = first; unit < last; ++unit) visit(unit);
      if (action.what == Do::backward)
        for (int unit = last; unit-- > first;) visit(unit);
    }
  }
  void write_pipeline(TrafficPlan& traffic) const {
    const MicroBatchCut cut(blueprint_.shape.sequences, settings_.micro_batches);
    for (const Action& action : blueprint_.table.actions(at_.pp)) {
      const std::int64_t sequences = cut.size(action.micro_batch);
      if (action.what == Do::send_activation)
        traffic.send("pp", count(blueprint_.bounds.stream_out.with(0, sequences).size()), sizeof(T));
      if (action.what == Do::send_gradient)
        traffic.send("pp", count(blueprint_.bounds.stream_in.with(0, sequences).size()), sizeof(T));
    }
  }

  /// The bubble for stages as dear as the dearest one.
  double dearest_bubble() const {
    double forward = 0;
    double backward = 0;
    const std::vector<int>& bounds = blueprint_.layout.stage_bounds;
    for (std::size_t stage = 0; stage + 1 < bounds.size(); ++stage) {
      double f = 0;
      double b = 0;
      for (int unit = bounds[stage]; unit < bounds[stage + 1]; ++unit) {
        const UnitMeasure& measure = blueprint_.units[static_cast<std::size_t>(unit)];
        f += measure.forward.flops;
        b += measure.backward.flops;
      }
      if (f + b > forward + backward) {
        forward = f;
        backward = b;
      }
    }
    return bubble(blueprint_.table, forward, backward);
  }

  const Blueprint& blueprint_;
  const StepSettings& settings_;
  const Extents& extents_;
  PlanCoordinates at_;
  int states_;
};

}  // namespace detail

/// The plan of the rank at `at` in a mesh of `extents`, for a step's batch of `shape` on every rank. Needs no
/// ranks and allocates no device memory. Throws ConfigError and ShapeError for what cannot work.
template <class Device, class Net, class S, class Optimizer>
Plan plan_rank(const Net& net, const S& strategy, const Extents& extents, const PlanCoordinates& at,
               const Optimizer& optimizer, const BatchShape& shape) {
  using T = compute_t<S>;
  const StepSettings settings = step_settings(strategy);
  const Blueprint blueprint = draw_blueprint<T, Device>(net, settings, extents, at.pp, shape);
  return detail::PlanWriter<T, Device>(blueprint, settings, extents, at, optimizer.states()).write();
}

/// The plan of the calling rank: bytes, traffic per step, operations and bubble for a step's batch of
/// `shape`.
template <class Net, class S, class MeshType, class Optimizer>
Plan plan(const Net& net, const S& strategy, const MeshType& mesh, const Optimizer& optimizer,
          const BatchShape& shape) {
  using Device = typename MeshType::communicator::device;
  const PlanCoordinates at{mesh.coordinate(Axis::pp), mesh.rank_of(mesh.coordinates())};
  return plan_rank<Device>(net, strategy, mesh.extents(), at, optimizer, shape);
}

}  // namespace triax
