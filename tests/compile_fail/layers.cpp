// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Models of the wrong parts, and layers that miss a concept by little.

#include <triax/triax.hpp>

using namespace triax;

/// Multiplies each feature by a weight: what the layers below were meant to be.
struct Gain {
  int width = 4;

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x;
  };

  std::array<Parameter, 1> parameters() const { return {Parameter{.name = "gain", .shape = {width}}}; }
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    cache.x = x;
    const auto y = ctx.output(x.shape());
    const auto gain = ctx.parameter(0);
    ctx.device.launch(
        [=] {
          for (std::int64_t i = 0; i < x.size(); ++i)
            y.data()[i] = x.data()[i] * gain.data()[i % gain.size()];
        },
        Cost{});
    return y;
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>&) const {
    const auto dx = ctx.output(dy.shape());
    copy(ctx.device, dy, dx);
    return dx;
  }
};

template <class... Layers>
struct Net {
  std::tuple<Layers...> layers;
  MeanSquaredError loss;
};

template <class Model>
double train(ThreadCommunicator world) {
  Mesh mesh(world, {.dp = 2});
  Parallel model(Model{}, Strategy<DataParallel<>>{}, mesh, AdamW{});
  return model.step(Batch<Host>{}).loss();
}
double right(ThreadCommunicator world) { return train<Net<InputValues, Gain>>(world); }

// ---- Models ----

#ifdef TRIAX_FAIL_1
// TRIAX_FAIL_1: an entry of the model's layers is no Layer; static_assert(triax::Layer<YourLayer>) says
//   what it lacks
double no_layer(ThreadCommunicator world) { return train<Net<InputValues, Gain, std::string>>(world); }
#endif

#ifdef TRIAX_FAIL_2
// TRIAX_FAIL_2: an entry of the model's layers is no Layer; static_assert(triax::Layer<YourLayer>) says
//   what it lacks
double no_layer_repeated(ThreadCommunicator world) {
  return train<Net<InputValues, Repeat<MeanSquaredError>>>(world);
}
#endif

#ifdef TRIAX_FAIL_3
// TRIAX_FAIL_3: the first entry of the model's layers is no InputLayer; begin with Embedding, InputValues
//   or a layer whose forward takes no stream
double no_input_layer(ThreadCommunicator world) { return train<Net<Gain, Gain>>(world); }
#endif

#ifdef TRIAX_FAIL_4
// TRIAX_FAIL_4: the first entry of the model's layers is no InputLayer
double repeated_input_layer(ThreadCommunicator world) { return train<Net<Repeat<InputValues>, Gain>>(world); }
#endif

#ifdef TRIAX_FAIL_5
// TRIAX_FAIL_5: the model's loss is no LossLayer; static_assert(triax::LossLayer<YourLoss>) says what it
//   lacks
struct WithoutLoss {
  std::tuple<InputValues, Gain> layers;
  Gain loss;
};
double no_loss(ThreadCommunicator world) { return train<WithoutLoss>(world); }
#endif

#ifdef TRIAX_FAIL_6
// TRIAX_FAIL_6: a model needs a member `layers`, a std::tuple of layers, and a member `loss`
struct Layers {
  std::array<Gain, 3> layers;
  MeanSquaredError loss;
};
double no_tuple(ThreadCommunicator world) { return train<Layers>(world); }
#endif

#ifdef TRIAX_FAIL_7
// TRIAX_FAIL_7: a model needs a member `layers`, a std::tuple of layers, and a member `loss`
double no_model(ThreadCommunicator world) { return train<Gain>(world); }
#endif

#ifdef TRIAX_FAIL_8
// TRIAX_FAIL_8: an entry of the model's layers is no Layer; static_assert(triax::Layer<YourLayer>) says
//   what it lacks
double second_input_layer(ThreadCommunicator world) { return train<Net<InputValues, InputValues>>(world); }
#endif

// ---- Layers that miss a part of the concept: the note names it ----

#ifdef TRIAX_FAIL_9
// TRIAX_FAIL_9 note: DeclaresParameters
struct WithoutParameters : Gain {
  std::vector<Parameter> parameters() const;
};
static_assert(Layer<WithoutParameters>);
#endif

#ifdef TRIAX_FAIL_10
// TRIAX_FAIL_10 note: HasCache
struct WithoutCache {
  std::array<Parameter, 0> parameters() const;
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x) const;
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy) const;
};
static_assert(Layer<WithoutCache>);
#endif

#ifdef TRIAX_FAIL_11
// TRIAX_FAIL_11 note: ForwardMapsStreamToStream
struct ForwardWithoutResult : Gain {
  template <class Ctx>
  void forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const;
};
static_assert(Layer<ForwardWithoutResult>);
#endif

#ifdef TRIAX_FAIL_12
// TRIAX_FAIL_12 note: BackwardMapsStreamToStream
struct BackwardWithoutCache : Gain {
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy) const;
};
static_assert(Layer<BackwardWithoutCache>);
#endif

#ifdef TRIAX_FAIL_13
// TRIAX_FAIL_13 note: ForwardMakesStream
static_assert(InputLayer<Gain>);
#endif

#ifdef TRIAX_FAIL_14
// TRIAX_FAIL_14 note: BackwardStartsFromSeed
struct LossWithoutStart : MeanSquaredError {
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const;
};
static_assert(LossLayer<LossWithoutStart>);
#endif

#ifdef TRIAX_FAIL_15
// TRIAX_FAIL_15 note: SplitsBackward
static_assert(SplitLayer<Gain>);
#endif

// ---- Other concepts of user types ----

#ifdef TRIAX_FAIL_16
// TRIAX_FAIL_16 note: UpdatesRange
struct OptimizerOfTensors {
  LearningRate lr = 0.1;
  static constexpr bool elementwise = true;
  static constexpr int max_states = 0;
  int states() const { return 0; }
  LearningRate learning_rate() const { return lr; }
  void update(std::span<float> weights, std::span<const float> gradient) const;
};
static_assert(Optimizer<OptimizerOfTensors>);
#endif

#ifdef TRIAX_FAIL_17
// TRIAX_FAIL_17 note: Splits
struct WithoutSplit {
  using device = Host;
  int rank() const noexcept;
  int size() const noexcept;
};
static_assert(WorldCommunicator<WithoutSplit>);
#endif

// ---- A loop over a tensor outside of a launch, which no other device could run ----

#ifdef TRIAX_FAIL_18
// TRIAX_FAIL_18: operator[]
struct RawLoop : Gain {
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    float sum = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) sum += x[i];
    return sum > 0 ? x : Gain::forward(ctx, x, cache);
  }
};
double raw_loop(ThreadCommunicator world) { return train<Net<InputValues, RawLoop>>(world); }
#endif
