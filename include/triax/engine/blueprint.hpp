// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Everything that shapes alone decide about a rank, before memory is taken: shared by the plan and the
// engine.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <triax/comm/extents.hpp>
#include <triax/engine/cut.hpp>
#include <triax/engine/layout.hpp>
#include <triax/engine/measure.hpp>
#include <triax/engine/micro_batches.hpp>
#include <triax/engine/sharding.hpp>
#include <triax/schedule/forward_only.hpp>
#include <triax/schedule/make_table.hpp>

namespace triax {

/// A strategy's answers, as the engine's parts read them.
struct StepSettings {
  Bucketing bucketing{};
  ShardingFlags sharding{};
  int micro_batches = 1;
  AnySchedule schedule;
};

/// What one rank of the pp axis does and holds.
struct Blueprint {
  BatchShape shape{};        ///< of a step's batch on this rank
  BatchShape micro_batch{};  ///< of the largest micro-batch
  ModelLayout layout;
  std::vector<UnitMeasure> units;  ///< of the whole model
  ScheduleTable table;
  StageBounds bounds;
  StageMeasure stage;
  std::vector<std::string> added_losses;  ///< names, in the order of StepState::added

  int stage_index() const { return layout.stage_of(bounds.first_unit); }
  int slots() const { return table.slots(stage_index()); }
};

/// Draws the blueprint of the rank at `stage` of the pp axis, for layers that compute in T on `Device`.
/// Throws ConfigError and ShapeError for what cannot work.
template <ComputeType T, class Device, class Net>
Blueprint draw_blueprint(const Net& net, const StepSettings& settings, const Extents& extents, int stage,
                         const BatchShape& shape) {
  if (shape.sequences < 1 || shape.tokens < 1)
    throw ShapeError("a step needs at least one sequence of one token on every rank, but got " +
                     std::to_string(shape.sequences) + " sequences of " + std::to_string(shape.tokens) +
                     " tokens");
  const MicroBatchCut cut(shape.sequences, settings.micro_batches);
  Blueprint blueprint;
  blueprint.shape = shape;
  blueprint.micro_batch = shape;
  blueprint.micro_batch.sequences = cut.largest();
  blueprint.layout = declare_parameters(net, extents);
  const int units = static_cast<int>(blueprint.layout.first_parameter.size()) - 1;

  StageMeasure whole = measure_stage<T, Device>(net, blueprint.layout, StageBounds{.last_unit = units},
                                                blueprint.micro_batch, extents);
  std::vector<double> costs;
  for (const UnitMeasure& unit : whole.units) costs.push_back(unit.time());
  blueprint.units = std::move(whole.units);
  blueprint.added_losses = std::move(whole.added_losses);
  form_chunks(blueprint.layout, cut_by_cost(costs, extents.pp), extents, settings.bucketing);
  blueprint.table = make_table(settings.schedule, extents.pp, cut.count());

  const std::vector<int>& bounds = blueprint.layout.stage_bounds;
  const auto stream_before = [&](int unit) {
    return unit == 0 || unit == units ? Shape{} : blueprint.units[static_cast<std::size_t>(unit) - 1].stream;
  };
  const int first = bounds[static_cast<std::size_t>(stage)];
  const int last = bounds[static_cast<std::size_t>(stage) + 1];
  blueprint.bounds = {first, last, last == units, stream_before(first), stream_before(last)};
  blueprint.stage =
      extents.pp == 1
          ? StageMeasure{whole.activations, whole.takes, {}, whole.executed, whole.product_flops, {}}
          : measure_stage<T, Device>(net, blueprint.layout, blueprint.bounds, blueprint.micro_batch, extents);
  return blueprint;
}

}  // namespace triax
