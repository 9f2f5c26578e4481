// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Which compositions are legal. What types know is checked by the compiler; the same rules with the same sentences are
// checked again, on values, when a model is constructed.

#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <triax/comm/communicator.hpp>
#include <triax/comm/extents.hpp>
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

/// Facts about a model's list, each false or -1 when the list cannot be read.
template <class Net>
struct ModelFacts {
  static constexpr bool first_is_input = false;
  static constexpr bool rest_are_layers = false;
  static constexpr bool ends_in_loss = false;
  static constexpr int fixed_units = -1;
};
template <HasLayersAndLoss Net>
struct ModelFacts<Net> {
  template <std::size_t I>
  using layer = typename entry_unit<Net, I>::layer_type;

  static constexpr bool first_is_input = InputLayer<layer<0>>;
  static constexpr bool rest_are_layers = []<std::size_t... I>(std::index_sequence<I...>) {
    return (Layer<layer<I + 1>> && ...);
  }(std::make_index_sequence<entry_count<Net> - 1>{});
  static constexpr bool ends_in_loss = LossLayer<decltype(Net::loss)>;
  /// -1 when a Repeat makes the number a run-time value.
  static constexpr int fixed_units = []<std::size_t... I>(std::index_sequence<I...>) {
    return ((entry_unit<Net, I>::fixed_count > 0) && ...) ? static_cast<int>(sizeof...(I)) : -1;
  }(std::make_index_sequence<entry_count<Net>>{});
};

/// A mesh's extent along an axis, or 0 when only the run knows it.
template <class MeshType>
constexpr int fixed_extent(Axis axis) {
  const int extent = MeshType::fixed[axis];
  return extent > 0 ? extent : 0;
}

}  // namespace detail

/// The rules that types alone decide. Each is a fact with a sentence; `Parallel` asserts them in order.
template <class Net, class S, class MeshType, class OptimizerType>
struct Rules {
  using Facts = detail::ModelFacts<Net>;
  using Communicator = typename MeshType::communicator;

  template <class Axis>
  static constexpr bool has = S::template count<Axis> > 0;
  template <class Axis>
  static constexpr bool once = S::template count<Axis> <= 1;

  static constexpr bool all_policies = S::all_policies;
  static constexpr bool one_per_axis = once<axis::gradients> && once<axis::sharding> && once<axis::micro_batches> &&
                                       once<axis::schedule> && once<axis::precision> && once<axis::tensor> &&
                                       once<axis::context> && once<axis::experts> && once<axis::activations> &&
                                       once<axis::clipping>;
  static constexpr bool is_model = detail::HasLayersAndLoss<Net>;
  static constexpr bool first_is_input = Facts::first_is_input;
  static constexpr bool rest_are_layers = Facts::rest_are_layers;
  static constexpr bool ends_in_loss = Facts::ends_in_loss;
  static constexpr bool is_optimizer = Optimizer<OptimizerType>;

  static constexpr bool reduces = GradientCommunicator<Communicator> && Broadcasts<Communicator>;
  static constexpr bool shards = ShardingCommunicator<Communicator>;
  static constexpr bool pipelines = PipelineCommunicator<Communicator>;

  static constexpr bool sharded_with_data_parallel = !has<axis::sharding> || has<axis::gradients>;
  static constexpr bool sharded_elementwise = [] {
    if constexpr (has<axis::sharding> && is_optimizer) {
      using Policy = decltype(S{}.template get<axis::sharding, Sharded<Stage::none>>());
      // A stage that is a value may be Stage::none; then the rule waits for it.
      if constexpr (requires { typename std::bool_constant<(Policy::stage > Stage::none)>; })
        return Policy::stage == Stage::none || OptimizerType::elementwise;
      else
        return true;
    } else {
      return true;
    }
  }();
  static constexpr bool scaled = [] {
    using Policy = decltype(S{}.template get<axis::precision, FullPrecision>());
    return !std::is_same_v<typename Policy::compute, fp16> || std::is_same_v<typename Policy::scaling, LossScaling>;
  }();

  static constexpr bool data_parallel_when_needed =
      detail::fixed_extent<MeshType>(Axis::dp) <= 1 || has<axis::gradients>;
  static constexpr bool schedule_when_needed = detail::fixed_extent<MeshType>(Axis::pp) <= 1 || has<axis::schedule>;
  static constexpr bool enough_units =
      Facts::fixed_units < 0 || detail::fixed_extent<MeshType>(Axis::pp) <= Facts::fixed_units;
  static constexpr bool schedule_verifies = [] {
    using Schedule = decltype(S{}.template get<axis::schedule, PipelineStage<OneFOneB>>());
    using Count = decltype(S{}.template get<axis::micro_batches, MicroBatches<1>>());
    constexpr int stages = detail::fixed_extent<MeshType>(Axis::pp);
    if constexpr (stages > 1 && !std::is_same_v<typename Schedule::schedule_type, RunTimeSchedule> &&
                  !std::is_same_v<Count, MicroBatches<run_time_count>>)
      return fixed_table<typename Schedule::schedule_type, stages, Count::count>.fault == Fault::none;
    else
      return true;
  }();
  static constexpr bool tensor_policy = detail::fixed_extent<MeshType>(Axis::tp) <= 1 || has<axis::tensor>;
  static constexpr bool context_policy = detail::fixed_extent<MeshType>(Axis::cp) <= 1 || has<axis::context>;
  static constexpr bool expert_policy = detail::fixed_extent<MeshType>(Axis::ep) <= 1 || has<axis::experts>;
  static constexpr bool tensor_layer = detail::fixed_extent<MeshType>(Axis::tp) <= 1;
  static constexpr bool context_layer = detail::fixed_extent<MeshType>(Axis::cp) <= 1;
  static constexpr bool expert_layer = detail::fixed_extent<MeshType>(Axis::ep) <= 1;

  /// Whether the composition may be instantiated at all.
  static constexpr bool legal = all_policies && one_per_axis && is_model && first_is_input && rest_are_layers &&
                                ends_in_loss && is_optimizer && reduces && shards && pipelines &&
                                sharded_with_data_parallel && sharded_elementwise && scaled &&
                                data_parallel_when_needed && schedule_when_needed && enough_units &&
                                schedule_verifies && tensor_policy && context_policy && expert_policy &&
                                tensor_layer && context_layer && expert_layer;

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
    require(sharding.accumulate != Accumulate::sharded || sharding.stage >= Stage::gradients, TRIAX_SAY_ACCUMULATE);
    require(sharding.stage == Stage::none || OptimizerType::elementwise, TRIAX_SAY_NOT_ELEMENTWISE);
    const auto activations = strategy.template get<axis::activations, Activations<Store::keep>>();
    require(activations.store == Store::keep, TRIAX_SAY_NO_STORE);

    const auto micro_batches = strategy.template get<axis::micro_batches, MicroBatches<1>>();
    if (micro_batches.count < 1)
      throw ConfigError("triax: MicroBatches needs a positive number, but got " + std::to_string(micro_batches.count));
    const auto schedule = strategy.template get<axis::schedule, PipelineStage<OneFOneB>>();
    const ScheduleTable table = generate_table(schedule.schedule, extents.pp, micro_batches.count);
    if (table.fault() != Fault::none)
      throw ConfigError(std::string(TRIAX_SAY_BAD_SCHEDULE) + ": " +
                        describe_fault(schedule.schedule, extents.pp, micro_batches.count, table));
  }
};

}  // namespace triax
