// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The one wrapper around a user's layers and communicator.

#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <triax/parallel/engine.hpp>
#include <triax/parallel/rejected.hpp>
#include <triax/parallel/rules.hpp>

namespace triax {

/// A model under a strategy: `Parallel model(net, strategy, mesh, optimizer)` deduces, and the explicit form
/// is the same type.
///
/// The model holds its net, strategy and optimizer by value and the mesh by reference: the mesh must outlive
/// it. All members that communicate are collective over the mesh. Construction throws ConfigError for a
/// composition that cannot work; memory is taken by `reserve` or the first step. `seed` keys initial values,
/// dropout and stochastic rounding.
///
/// The members are those of Engine; the static assertions say what an illegal composition lacks.
template <class Net, class S, class MeshType, class OptimizerType>
class Parallel : public std::conditional_t<Rules<Net, S, MeshType, OptimizerType>::legal,
                                           Engine<Net, S, MeshType, OptimizerType>,
                                           detail::Rejected<Net, S, MeshType, OptimizerType>> {
  using Legal = Rules<Net, S, MeshType, OptimizerType>;
  using Base = std::conditional_t<Legal::legal, Engine<Net, S, MeshType, OptimizerType>,
                                  detail::Rejected<Net, S, MeshType, OptimizerType>>;

  static_assert(Legal::is_strategy, TRIAX_SAY_NO_STRATEGY);
  static_assert(Legal::all_policies, TRIAX_SAY_NO_POLICY);
  static_assert(Legal::one_per_axis, TRIAX_SAY_TWICE);
  static_assert(Legal::is_model, TRIAX_SAY_NO_MODEL);
  static_assert(Legal::first_is_input, TRIAX_SAY_NO_INPUT_LAYER);
  static_assert(Legal::rest_are_layers, TRIAX_SAY_NO_LAYER);
  static_assert(Legal::ends_in_loss, TRIAX_SAY_NO_LOSS);
  static_assert(Legal::is_optimizer, TRIAX_SAY_NO_OPTIMIZER);
  static_assert(Legal::is_mesh, TRIAX_SAY_NO_MESH);
  static_assert(Legal::reduces, TRIAX_SAY_NO_REDUCTION);
  static_assert(Legal::shards, TRIAX_SAY_NO_SHARDING);
  static_assert(Legal::pipelines, TRIAX_SAY_NO_PIPELINE);
  static_assert(Legal::sharded_with_data_parallel, TRIAX_SAY_SHARDED_ALONE);
  static_assert(Legal::sharded_elementwise, TRIAX_SAY_NOT_ELEMENTWISE);
  static_assert(Legal::keeps_activations, TRIAX_SAY_NO_STORE);
  static_assert(Legal::computes, TRIAX_SAY_NO_COMPUTE);
  static_assert(Legal::scaled, TRIAX_SAY_NO_SCALER);
  static_assert(Legal::is_schedule, TRIAX_SAY_NO_SCHEDULE_TYPE);
  static_assert(Legal::runs_schedule, TRIAX_SAY_NO_SUCH_SCHEDULE);
  static_assert(Legal::counts_micro_batches, TRIAX_SAY_MICRO_BATCHES);
  static_assert(Legal::data_parallel_when_needed, TRIAX_SAY_NO_DATA_PARALLEL);
  static_assert(Legal::schedule_when_needed, TRIAX_SAY_NO_SCHEDULE);
  static_assert(Legal::enough_units, TRIAX_SAY_FEW_UNITS);
  static_assert(Legal::schedule_verifies, TRIAX_SAY_BAD_SCHEDULE);
  static_assert(Legal::tensor_policy, TRIAX_SAY_NO_TENSOR_PARALLEL);
  static_assert(Legal::context_policy, TRIAX_SAY_NO_CONTEXT_PARALLEL);
  static_assert(Legal::expert_policy, TRIAX_SAY_NO_EXPERT_PARALLEL);
  static_assert(Legal::tensor_layer, TRIAX_SAY_NO_TENSOR_LAYER);
  static_assert(Legal::context_layer, TRIAX_SAY_NO_CONTEXT_LAYER);
  static_assert(Legal::expert_layer, TRIAX_SAY_NO_EXPERT_LAYER);

 public:
  Parallel(Net net, S strategy, MeshType& mesh, OptimizerType optimizer, std::uint64_t seed = 1)
      : Base((check(net, strategy, mesh), std::move(net)), std::move(strategy), mesh, std::move(optimizer),
             seed) {}

 private:
  static void check(const Net& net, const S& strategy, const MeshType& mesh) {
    if constexpr (Legal::legal) Legal::check(net, strategy, mesh.extents());
  }
};

}  // namespace triax
