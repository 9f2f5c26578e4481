// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Which compositions are legal. What types know is checked by the compiler; the same rules with the same
// sentences are checked again, on values, when a model is constructed.

#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <triax/comm/communicator.hpp>
#include <triax/comm/extents.hpp>
#include <triax/comm/mesh.hpp>
#include <triax/comm/self.hpp>
#include <triax/core/error.hpp>
#include <triax/engine/units.hpp>
#include <triax/nn/layer.hpp>
#include <triax/optim/optimizer.hpp>
#include <triax/parallel/sentences.hpp>
#include <triax/parallel/strategy.hpp>
#include <triax/schedule/make_table.hpp>

namespace triax {

namespace detail {

template <class T>
inline constexpr bool is_tuple = false;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = sizeof...(Ts) > 0;

template <class Net>
concept HasLayersAndLoss = requires(const Net& net) {
  net.layers;
  net.loss;
} && is_tuple<std::remove_cvref_t<decltype(std::declval<const Net&>().layers)>>;

/// Facts about a model's list. What is no model lacks nothing else.
template <class Net>
struct ModelFacts {
  static constexpr bool first_is_input = true;
  static constexpr bool rest_are_layers = true;
  static constexpr bool ends_in_loss = true;
  static constexpr int fixed_units = -1;
};
template <HasLayersAndLoss Net>
struct ModelFacts<Net> {
  template <std::size_t I>
  using layer = typename entry_unit<Net, I>::layer_type;

  static constexpr bool first_is_input = InputLayer<layer<0>> && entry_unit<Net, 0>::fixed_count == 1;
  static constexpr bool rest_are_layers = []<std::size_t... I>(std::index_sequence<I...>) {
    return (Layer<layer<I + 1>> && ...);
  }(std::make_index_sequence<entry_count<Net> - 1>{});
  static constexpr bool ends_in_loss = LossLayer<decltype(Net::loss)>;
  /// -1 when a Repeat makes the number a run-time value.
  static constexpr int fixed_units = []<std::size_t... I>(std::index_sequence<I...>) {
    return ((entry_unit<Net, I>::fixed_count > 0) && ...) ? static_cast<int>(sizeof...(I)) : -1;
  }(std::make_index_sequence<entry_count<Net>>{});
};

/// What the type of a mesh tells. The stand-in for what is no mesh breaks no other rule.
template <class MeshType>
struct MeshFacts {
  static constexpr bool is_mesh = false;
  using communicator = SelfCommunicator;
  static constexpr Extents fixed = run_time_extents;
};
template <class World, Extents Fixed>
struct MeshFacts<Mesh<World, Fixed>> {
  static constexpr bool is_mesh = true;
  using communicator = World;
  static constexpr Extents fixed = Fixed;
};

template <class S>
inline constexpr bool is_strategy = false;
template <class... Policies>
inline constexpr bool is_strategy<Strategy<Policies...>> = true;

/// The strategy, or one without policies in place of what is none.
template <class S>
using readable_strategy = std::conditional_t<is_strategy<S>, S, Strategy<>>;

/// Whether a policy's answer is part of its type. Else its value holds it, and the rules wait for that.
template <class Policy>
concept FixesStage = !std::is_member_pointer_v<decltype(&Policy::stage)>;
template <class Policy>
concept FixesStore = !std::is_member_pointer_v<decltype(&Policy::store)>;
template <class Policy>
concept FixesCount = !std::is_member_pointer_v<decltype(&Policy::count)>;

/// Whether the interpreter can carry out the tables of a schedule.
constexpr bool engine_runs(const AnySchedule& schedule) {
  return schedule.virtual_stages == 1 && schedule.placement == round_robin &&
         schedule.passes == Passes::forward_backward;
}

}  // namespace detail

/// The rules that types alone decide. Each is a fact with a sentence; `Parallel` asserts them in order.
template <class Net, class Given, class MeshType, class OptimizerType>
struct Rules {
  using S = detail::readable_strategy<Given>;
  using Model = detail::ModelFacts<Net>;
  using MeshOf = detail::MeshFacts<MeshType>;
  using Communicator = typename MeshOf::communicator;

  /// What is no strategy lacks nothing else.
  template <class Axis>
  static constexpr bool has = !detail::is_strategy<Given> || S::template count<Axis> > 0;
  template <class Axis>
  static constexpr bool once = S::template count<Axis> <= 1;
  /// The type of the policy that answers an axis's question.
  template <class Axis, class Default>
  using policy = decltype(S{}.template get<Axis, Default>());
  /// The extent of an axis of the mesh, or 0 when only the run knows it.
  static constexpr int extent(Axis axis) { return MeshOf::fixed[axis] > 0 ? MeshOf::fixed[axis] : 0; }

  // ---- The parts are what they should be ----

  static constexpr bool is_strategy = detail::is_strategy<Given>;
  static constexpr bool all_policies = S::all_policies;
  static constexpr bool one_per_axis = once<axis::gradients> && once<axis::sharding> &&
                                       once<axis::micro_batches> && once<axis::schedule> &&
                                       once<axis::precision> && once<axis::tensor> && once<axis::context> &&
                                       once<axis::experts> && once<axis::activations> && once<axis::clipping>;
  static constexpr bool is_model = detail::HasLayersAndLoss<Net>;
  static constexpr bool first_is_input = Model::first_is_input;
  static constexpr bool rest_are_layers = Model::rest_are_layers;
  static constexpr bool ends_in_loss = Model::ends_in_loss;
  static constexpr bool is_optimizer = Optimizer<OptimizerType>;

  static constexpr bool is_mesh = MeshOf::is_mesh;
  static constexpr bool reduces = GradientCommunicator<Communicator> && Broadcasts<Communicator>;
  static constexpr bool shards = ShardingCommunicator<Communicator>;
  static constexpr bool pipelines = PipelineCommunicator<Communicator>;

  // ---- Policies and options fit together ----

  static constexpr bool sharded_with_data_parallel = !has<axis::sharding> || has<axis::gradients>;
  static constexpr bool sharded_elementwise = [] {
    using Policy = policy<axis::sharding, Sharded<Stage::none>>;
    if constexpr (is_optimizer && detail::FixesStage<Policy>)
      return Policy::stage == Stage::none || OptimizerType::elementwise;
    else
      return true;
  }();
  static constexpr bool keeps_activations = [] {
    using Policy = policy<axis::activations, Activations<Store::keep>>;
    if constexpr (detail::FixesStore<Policy>)
      return Policy::store == Store::keep;
    else
      return true;
  }();
  using Compute = compute_t<S>;
  static constexpr bool computes =
      std::is_same_v<Compute, float> || std::is_same_v<Compute, bf16> || std::is_same_v<Compute, fp16>;
  static constexpr bool scaled =
      !std::is_same_v<Compute, fp16> ||
      std::is_same_v<typename policy<axis::precision, FullPrecision>::scaling, LossScaling>;
  using ScheduleType = typename policy<axis::schedule, PipelineStage<OneFOneB>>::schedule_type;
  static constexpr bool schedule_at_run_time = std::is_same_v<ScheduleType, RunTimeSchedule>;
  static constexpr bool is_schedule = schedule_at_run_time || Schedule<ScheduleType>;
  static constexpr bool runs_schedule = [] {
    if constexpr (is_schedule && !schedule_at_run_time)
      return detail::engine_runs(AnySchedule(ScheduleType{}));
    else
      return true;
  }();
  /// run_time_count when the policy's value says it.
  static constexpr int micro_batches = [] {
    using Policy = policy<axis::micro_batches, MicroBatches<1>>;
    if constexpr (detail::FixesCount<Policy>)
      return Policy::count;
    else
      return run_time_count;
  }();
  static constexpr bool counts_micro_batches = micro_batches >= run_time_count;

  // ---- The mesh's axes have what they need, as far as extents are fixed ----

  static constexpr bool data_parallel_when_needed =
      extent(Axis::dp) <= 1 || has<axis::gradients> || !sharded_with_data_parallel;
  static constexpr bool schedule_when_needed = extent(Axis::pp) <= 1 || has<axis::schedule>;
  static constexpr bool enough_units = Model::fixed_units < 0 || extent(Axis::pp) <= Model::fixed_units;
  static constexpr bool schedule_verifies = [] {
    constexpr bool fixed = extent(Axis::pp) > 1 && !schedule_at_run_time && micro_batches > run_time_count;
    if constexpr (fixed && is_schedule && runs_schedule)
      return fixed_table<ScheduleType, extent(Axis::pp), micro_batches>.fault == Fault::none;
    else
      return true;
  }();
  static constexpr bool tensor_policy = extent(Axis::tp) <= 1 || has<axis::tensor>;
  static constexpr bool context_policy = extent(Axis::cp) <= 1 || has<axis::context>;
  static constexpr bool expert_policy = extent(Axis::ep) <= 1 || has<axis::experts>;
  static constexpr bool tensor_layer = extent(Axis::tp) <= 1 || !tensor_policy;
  static constexpr bool context_layer = extent(Axis::cp) <= 1 || !context_policy;
  static constexpr bool expert_layer = extent(Axis::ep) <= 1 || !expert_policy;

  /// Whether the composition may be instantiated at all.
  static constexpr bool legal = is_strategy && all_policies && one_per_axis && is_model && first_is_input &&
                                rest_are_layers && ends_in_loss && is_optimizer && is_mesh && reduces &&
                                shards && pipelines && sharded_with_data_parallel && sharded_elementwise &&
                                keeps_activations && computes && scaled && is_schedule && runs_schedule &&
                                counts_micro_batches && data_parallel_when_needed && schedule_when_needed &&
                                enough_units && schedule_verifies && tensor_policy && context_policy &&
                                expert_policy && tensor_layer && context_layer && expert_layer;

  /// The same rules on values. Throws ConfigError with the rule's sentence, before anything is allocated.
  static void check(const Net& net, const S& strategy, const Extents& extents) {
    const auto require = [](bool fact, const char* sentence) {
      if (!fact) throw ConfigError(sentence);
    };
    require(extents.dp <= 1 || has<axis::gradients>, TRIAX_SAY_NO_DATA_PARALLEL);
    require(extents.pp <= 1 || has<axis::schedule>, TRIAX_SAY_NO_SCHEDULE);
    require(extents.tp <= 1 || has<axis::tensor>, TRIAX_SAY_NO_TENSOR_PARALLEL);
    require(extents.cp <= 1 || has<axis::context>, TRIAX_SAY_NO_CONTEXT_PARALLEL);
    require(extents.ep <= 1 || has<axis::experts>, TRIAX_SAY_NO_EXPERT_PARALLEL);
    require(extents.tp <= 1, TRIAX_SAY_NO_TENSOR_LAYER);
    require(extents.cp <= 1, TRIAX_SAY_NO_CONTEXT_LAYER);
    require(extents.ep <= 1, TRIAX_SAY_NO_EXPERT_LAYER);
    require(extents.pp <= static_cast<int>(unit_places(net).size()), TRIAX_SAY_FEW_UNITS);

    const auto sharding = strategy.template get<axis::sharding, Sharded<Stage::none>>();
    require(sharding.accumulate != Accumulate::sharded || sharding.stage >= Stage::gradients,
            TRIAX_SAY_ACCUMULATE);
    require(sharding.stage == Stage::none || OptimizerType::elementwise, TRIAX_SAY_NOT_ELEMENTWISE);
    const auto activations = strategy.template get<axis::activations, Activations<Store::keep>>();
    require(activations.store == Store::keep, TRIAX_SAY_NO_STORE);

    const int count = strategy.template get<axis::micro_batches, MicroBatches<1>>().count;
    if (count < 1)
      throw ConfigError(std::string(TRIAX_SAY_MICRO_BATCHES) + ", but got " + std::to_string(count));
    const auto schedule = strategy.template get<axis::schedule, PipelineStage<OneFOneB>>();
    require(detail::engine_runs(schedule.schedule), TRIAX_SAY_NO_SUCH_SCHEDULE);
    const ScheduleTable table = generate_table(schedule.schedule, extents.pp, count);
    if (table.fault() != Fault::none)
      throw ConfigError(std::string(TRIAX_SAY_BAD_SCHEDULE) + ": " +
                        describe_fault(schedule.schedule, extents.pp, count, table));

    const auto clip = strategy.template get<axis::clipping, Clip<By::none>>();
    if (clip.by != By::none && !(clip.limit > 0))
      throw ConfigError("triax: Clip needs a positive limit, but got " + std::to_string(clip.limit));
    const LossScale scale = strategy.template get<axis::precision, FullPrecision>().loss_scale;
    const bool can_move = scale.growth >= 1 && scale.backoff > 0 && scale.backoff <= 1 && scale.interval >= 1;
    require(scale.initial > 0 && scale.initial <= scale.ceiling && can_move,
            "triax: LossScale needs a positive initial scale up to its ceiling, a growth of at least 1, a "
            "backoff above 0 and "
            "up to 1, and an interval of at least 1");
  }
};

}  // namespace triax
