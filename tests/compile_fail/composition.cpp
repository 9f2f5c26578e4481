// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Policies, optimizers, meshes and communicators that do not fit together. Each program goes on to use its
// model; the rule's sentence must be the only error.

#include <triax/triax.hpp>

using namespace triax;

struct Net {
  std::tuple<InputValues, Linear> layers{InputValues{4}, Linear{4, 4}};
  MeanSquaredError loss;
};
constexpr Extents four{.dp = 2, .pp = 2};

template <class S, Extents E = four, class Optimizer = AdamW, class World = ThreadCommunicator>
double train(World world) {
  Mesh mesh(world, extents<E>);
  Parallel model(Net{}, S{}, mesh, Optimizer{}, 17);
  model.reserve({.sequences = 8, .tokens = 16, .input_features = 4, .target_features = 4});
  const Batch<Host> batch;
  for (int i = 0; i < 10; ++i) {
    const StepResult result = model.step(batch);
    if (result.applied() && result.loss() < 1) return result.grad_norm();
  }
  const std::vector<float> weights = model.parameter("1.0.weight");
  model.set_parameter("1.0.weight", weights);
  const auto output = model.gather_output(model.forward(batch), batch);
  model.forward_backward(batch);
  const float slope = model.gradient("1.0.weight")[0] * static_cast<float>(output.stream()[0]);
  return model.update().learning_rate() + model.evaluate(batch).sum + slope +
         static_cast<double>(model.measured().bytes.total());
}

double right(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, Sharded<Stage::gradients>, PipelineStage<OneFOneB>, MicroBatches<2>>>(
      world);
}

// ---- Policies ----

#ifdef TRIAX_FAIL_1
// TRIAX_FAIL_1: two policies of the Strategy answer the same question; keep one of them
double two_answers(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, Clip<By::norm>, DataParallel<>, PipelineStage<OneFOneB>>>(world);
}
#endif

#ifdef TRIAX_FAIL_2
// TRIAX_FAIL_2: an argument of Strategy is no policy; a policy is a type such as DataParallel<> or
//   MixedPrecision<bf16>
struct NoPolicy {};
double no_policy(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, NoPolicy, PipelineStage<OneFOneB>>>(world);
}
#endif

#ifdef TRIAX_FAIL_3
// TRIAX_FAIL_3: the second argument of Parallel is no Strategy; write Strategy<...> around the policies
double no_strategy(ThreadCommunicator world) { return train<DataParallel<>>(world); }
#endif

#ifdef TRIAX_FAIL_4
// TRIAX_FAIL_4: Sharded needs DataParallel<> in the Strategy: it shares out what data-parallel ranks would
//   otherwise copy
double sharded_alone(ThreadCommunicator world) {
  return train<Strategy<Sharded<Stage::parameters>, PipelineStage<OneFOneB>>>(world);
}
#endif

#ifdef TRIAX_FAIL_5
// TRIAX_FAIL_5: MixedPrecision<fp16, NoScaling> would lose small gradients; use MixedPrecision<fp16>, which
//   scales the loss
double no_scaler(ThreadCommunicator world) {
  return train<Strategy<MixedPrecision<fp16, NoScaling>, DataParallel<>, PipelineStage<OneFOneB>>>(world);
}
#endif

#ifdef TRIAX_FAIL_6
// TRIAX_FAIL_6: this version keeps all activations; use Store::keep
double recompute(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, PipelineStage<OneFOneB>, Activations<Store::recompute>>>(world);
}
#endif

#ifdef TRIAX_FAIL_7
// TRIAX_FAIL_7: a model computes in float, bf16 or fp16; MixedPrecision takes no other type
double integers(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, PipelineStage<OneFOneB>, MixedPrecision<int>>>(world);
}
#endif

#ifdef TRIAX_FAIL_8
// TRIAX_FAIL_8: MicroBatches needs a positive number
double no_micro_batch(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, PipelineStage<OneFOneB>, MicroBatches<-2>>>(world);
}
#endif

// ---- Optimizers ----

#ifdef TRIAX_FAIL_9
// TRIAX_FAIL_9: Sharded needs an optimizer that updates element by element, and this one does not; use
//   Stage::none or another optimizer
struct Lars : Sgd {
  static constexpr bool elementwise = false;
};
double not_elementwise(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, Sharded<Stage::optimizer>, PipelineStage<OneFOneB>>, four, Lars>(
      world);
}
#endif

#ifdef TRIAX_FAIL_10
// TRIAX_FAIL_10: the optimizer is no Optimizer; static_assert(triax::Optimizer<YourOptimizer>) says what it
//   lacks
struct NoOptimizer {
  double lr = 0.1;
};
double no_optimizer(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, PipelineStage<OneFOneB>>, four, NoOptimizer>(world);
}
#endif

// ---- Axes ----

#ifdef TRIAX_FAIL_11
// TRIAX_FAIL_11: dp is larger than 1, but the Strategy does not say how gradients are summed; add
//   DataParallel<>
double no_data_parallel(ThreadCommunicator world) { return train<Strategy<PipelineStage<OneFOneB>>>(world); }
#endif

#ifdef TRIAX_FAIL_12
// TRIAX_FAIL_12: pp is larger than 1, but the Strategy does not say in which order micro-batches are worked
//   on; add PipelineStage<OneFOneB>
double no_schedule(ThreadCommunicator world) { return train<Strategy<DataParallel<>>>(world); }
#endif

#ifdef TRIAX_FAIL_13
// TRIAX_FAIL_13: tp is larger than 1, but the Strategy does not say how layers are cut; add TensorParallel<>
double no_tensor_parallel(ThreadCommunicator world) { return train<Strategy<>, Extents{.tp = 2}>(world); }
#endif

#ifdef TRIAX_FAIL_14
// TRIAX_FAIL_14: tp is larger than 1, but this version has no tensor-parallel layer yet; use tp = 1
double no_tensor_layer(ThreadCommunicator world) {
  return train<Strategy<TensorParallel<Layout::sequence>>, Extents{.tp = 2}>(world);
}
#endif

#ifdef TRIAX_FAIL_15
// TRIAX_FAIL_15: cp is larger than 1, but the Strategy does not say how sequences are cut; add
//   ContextParallel<>
double no_context_parallel(ThreadCommunicator world) { return train<Strategy<>, Extents{.cp = 2}>(world); }
#endif

#ifdef TRIAX_FAIL_16
// TRIAX_FAIL_16: cp is larger than 1, but this version has no context-parallel layer yet; use cp = 1
double no_context_layer(ThreadCommunicator world) {
  return train<Strategy<ContextParallel<Ulysses>>, Extents{.cp = 2}>(world);
}
#endif

#ifdef TRIAX_FAIL_17
// TRIAX_FAIL_17: ep is larger than 1, but the Strategy does not say how tokens reach experts; add
//   ExpertParallel<>
double no_expert_parallel(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>>, Extents{.ep = 2}>(world);
}
#endif

#ifdef TRIAX_FAIL_18
// TRIAX_FAIL_18: ep is larger than 1, but this version has no expert-parallel layer yet; use ep = 1
double no_expert_layer(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, ExpertParallel<Dropless>>, Extents{.ep = 2}>(world);
}
#endif

// ---- Pipelines ----

#ifdef TRIAX_FAIL_19
// TRIAX_FAIL_19: the model has fewer units than pp has stages; lower pp or add layers
double too_many_stages(ThreadCommunicator world) {
  return train<Strategy<PipelineStage<OneFOneB>>, Extents{.pp = 3}>(world);
}
#endif

#ifdef TRIAX_FAIL_20
// TRIAX_FAIL_20: the schedule does not verify for this pp and these micro-batches: it deadlocks, loses work
//   or breaks an order; make_table says where
/// Rank 1 runs both forwards before its first backward, for which rank 0 waits before its second forward.
struct Stubborn {
  static constexpr const char* name = "stubborn";
  static constexpr void generate(ScheduleBuilder& builder, int, int) {
    for (int i = 0; i < 2; ++i) {
      builder.forward(0, i);
      builder.backward(0, i);
    }
    for (int i = 0; i < 2; ++i) builder.forward(1, i);
    for (int i = 0; i < 2; ++i) builder.backward(1, i);
  }
};
double deadlock(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, MicroBatches<2>, PipelineStage<Stubborn>>>(world);
}
#endif

#ifdef TRIAX_FAIL_21
// TRIAX_FAIL_21: the argument of PipelineStage is no Schedule; static_assert(triax::Schedule<YourSchedule>)
//   says what it lacks
struct NoSchedule {};
double no_schedule_type(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, PipelineStage<NoSchedule>>>(world);
}
#endif

#ifdef TRIAX_FAIL_22
// TRIAX_FAIL_22: this version runs schedules with one virtual stage on each rank, in rank order, and
//   undivided backward passes
struct Interleaved : OneFOneB {
  static constexpr int virtual_stages = 2;
};
double two_virtual_stages(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>, PipelineStage<Interleaved>>>(world);
}
#endif

// ---- Meshes and communicators ----

#ifdef TRIAX_FAIL_23
// TRIAX_FAIL_23: an extent that is fixed in a mesh's type cannot be automatic
double fixed_automatic(ThreadCommunicator world) {
  return train<Strategy<DataParallel<>>, Extents{.dp = automatic}>(world);
}
#endif

#ifdef TRIAX_FAIL_24
// TRIAX_FAIL_24: the third argument of Parallel is no Mesh; arrange the world by Mesh mesh(world, {.dp =
//   ...})
double no_mesh(ThreadCommunicator world) {
  Parallel model(Net{}, Strategy<DataParallel<>>{}, world, AdamW{});
  return model.step(Batch<Host>{}).loss();
}
#endif

#if defined(TRIAX_FAIL_25) || defined(TRIAX_FAIL_26) || defined(TRIAX_FAIL_27)
/// Offers what a Mesh needs, and of the rest what the switches say.
template <bool Broadcasts, bool Scatters, bool Sends>
class Limited {
 public:
  using device = Host;

  int rank() const noexcept { return 0; }
  int size() const noexcept { return 1; }
  Limited split(int, int) { return *this; }
  template <class T, class Op = Sum, class Ordering = Order::rank>
  Request all_reduce(std::span<T>, Op = {}, Ordering = {});
  template <class T>
    requires Broadcasts
  Request broadcast(std::span<T>, int root);
  template <class T, class Op = Sum, class Ordering = Order::rank>
    requires Scatters
  Request reduce_scatter(std::type_identity_t<std::span<const T>>, std::span<T>, Op = {}, Ordering = {});
  template <class T>
  Request all_gather(std::type_identity_t<std::span<const T>>, std::span<T>);
  template <class T>
    requires Sends
  Request send(std::span<T>, int to);
  template <class T>
  Request recv(std::span<T>, int from);
};
using Single = Strategy<DataParallel<>, PipelineStage<>>;
#endif

#ifdef TRIAX_FAIL_25
// TRIAX_FAIL_25: training needs a communicator with all_reduce and broadcast;
//   static_assert(triax::GradientCommunicator<YourCommunicator>) says what it lacks
double no_broadcast() { return train<Single, four, AdamW>(Limited<false, true, true>{}); }
#endif

#ifdef TRIAX_FAIL_26
// TRIAX_FAIL_26: training needs a communicator with reduce_scatter and all_gather;
//   static_assert(triax::ShardingCommunicator<YourCommunicator>) says what it lacks
double no_reduce_scatter() { return train<Single, four, AdamW>(Limited<true, false, true>{}); }
#endif

#ifdef TRIAX_FAIL_27
// TRIAX_FAIL_27: training needs a communicator with send and recv;
//   static_assert(triax::PipelineCommunicator<YourCommunicator>) says what it lacks
double no_send() { return train<Single, four, AdamW>(Limited<true, true, false>{}); }
#endif
