// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The concepts of layers: archetypes, which offer what a concept asks for and nothing else, and types that
// miss it by little. All checks are static.

#include <array>
#include <vector>

#include <triax/nn/layer.hpp>

namespace triax {
namespace {

// ---- DeclaresParameters ----

struct NoParameters {
  std::array<Parameter, 0> parameters() const;
};
struct ThreeParameters {
  std::array<Parameter, 3> parameters() const;
};
struct ParametersInVector {
  std::vector<Parameter> parameters() const;
};
struct ParametersOfChangingLayer {
  std::array<Parameter, 1> parameters();
};
struct ParametersOfAnotherType {
  std::array<int, 1> parameters() const;
};
struct ParametersAsMember {
  std::array<Parameter, 1> parameters;
};

static_assert(DeclaresParameters<NoParameters> && parameter_count<NoParameters> == 0);
static_assert(DeclaresParameters<ThreeParameters> && parameter_count<ThreeParameters> == 3);
static_assert(!DeclaresParameters<int>);
static_assert(!DeclaresParameters<ParametersInVector>, "the count must be part of the type");
static_assert(!DeclaresParameters<ParametersOfChangingLayer>, "a layer is a value that does not change");
static_assert(!DeclaresParameters<ParametersOfAnotherType>);
static_assert(!DeclaresParameters<ParametersAsMember>);

// ---- HasCache ----

struct EmptyCache {
  template <class Ctx>
  struct Cache {};
};
struct CacheOfNoContext {
  struct Cache {};
};
class PrivateCache {
  template <class Ctx>
  struct Cache {};
};
struct CacheOfNumber {
  template <int>
  struct Cache {};
};

static_assert(HasCache<EmptyCache>);
static_assert(!HasCache<NoParameters>);
static_assert(!HasCache<CacheOfNoContext>);
static_assert(!HasCache<PrivateCache>);
static_assert(!HasCache<CacheOfNumber>);

// ---- ForwardMapsStreamToStream ----

struct Forward : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const;
};
struct ForwardWithoutResult : EmptyCache {
  template <class Ctx>
  void forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const;
};
struct ForwardToReadOnlyStream : EmptyCache {
  template <class Ctx>
  typename Ctx::const_tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const;
};
struct ForwardOfChangingLayer : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache);
};
struct ForwardWithoutCache : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x) const;
};

static_assert(ForwardMapsStreamToStream<Forward>);
static_assert(!ForwardMapsStreamToStream<EmptyCache>);
static_assert(!ForwardMapsStreamToStream<ForwardWithoutResult>);
static_assert(!ForwardMapsStreamToStream<ForwardToReadOnlyStream>);
static_assert(!ForwardMapsStreamToStream<ForwardOfChangingLayer>);
static_assert(!ForwardMapsStreamToStream<ForwardWithoutCache>);

// ---- BackwardMapsStreamToStream ----

struct Backward : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const;
};
struct BackwardWithoutResult : EmptyCache {
  template <class Ctx>
  void backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const;
};
struct BackwardWithoutGradient : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, Cache<Ctx>& cache) const;
};
struct BackwardToNumber : EmptyCache {
  template <class Ctx>
  float backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const;
};

static_assert(BackwardMapsStreamToStream<Backward>);
static_assert(!BackwardMapsStreamToStream<EmptyCache>);
static_assert(!BackwardMapsStreamToStream<BackwardWithoutResult>);
static_assert(!BackwardMapsStreamToStream<BackwardWithoutGradient>);
static_assert(!BackwardMapsStreamToStream<BackwardToNumber>);

// ---- Layer ----

/// The archetypes inherit from several parts, which all bring the same Cache; this picks one.
template <class... Parts>
struct Archetype : Parts... {
  template <class Ctx>
  using Cache = EmptyCache::Cache<Ctx>;
};

using MinimalLayer = Archetype<NoParameters, Forward, Backward>;

static_assert(Layer<MinimalLayer>);
static_assert(Layer<MinimalLayer, Ctx<double, Host, MeterCommunicator>>);
static_assert(!Layer<int>);
static_assert(!Layer<Archetype<Forward, Backward>>, "it declares no parameters");
static_assert(!Layer<Archetype<NoParameters, Forward>>, "it has no backward");
static_assert(!Layer<Archetype<NoParameters, Forward, BackwardWithoutResult>>);
static_assert(!Layer<Archetype<NoParameters, ForwardWithoutResult, Backward>>);
static_assert(!Layer<Archetype<ParametersInVector, Forward, Backward>>);

struct FloatOnly : NoParameters, EmptyCache {
  using Context = ProbeCtx;
  Context::tensor forward(Context& ctx, Context::tensor x, Cache<Context>& cache) const;
  Context::tensor backward(Context& ctx, Context::tensor dy, Cache<Context>& cache) const;
};
static_assert(Layer<FloatOnly>);
static_assert(!Layer<FloatOnly, Ctx<double, Host, MeterCommunicator>>,
              "a layer can be one for some contexts only");

// ---- InputLayer ----

struct ForwardFromBatch : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, Cache<Ctx>& cache) const;
};
struct ForwardFromBatchWithoutResult : EmptyCache {
  template <class Ctx>
  void forward(Ctx& ctx, Cache<Ctx>& cache) const;
};

using MinimalInputLayer = Archetype<NoParameters, ForwardFromBatch, BackwardWithoutResult>;

static_assert(ForwardMakesStream<ForwardFromBatch>);
static_assert(!ForwardMakesStream<Forward>);
static_assert(!ForwardMakesStream<ForwardFromBatchWithoutResult>);
static_assert(BackwardEndsStream<BackwardWithoutResult>);
static_assert(!BackwardEndsStream<Backward>, "nothing takes the gradient that it would return");
static_assert(!BackwardEndsStream<BackwardWithoutGradient>);

static_assert(InputLayer<MinimalInputLayer> && !Layer<MinimalInputLayer>);
static_assert(!InputLayer<MinimalLayer>);
static_assert(!InputLayer<Archetype<NoParameters, ForwardFromBatch, Backward>>);
static_assert(!InputLayer<Archetype<ForwardFromBatch, BackwardWithoutResult>>);

// ---- SplitLayer ----

struct InputHalf : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const;
};
struct WeightHalf : EmptyCache {
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const;
};
struct WeightHalfWithGradient : EmptyCache {
  template <class Ctx>
  void backward_weight(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const;
};
struct WeightHalfWithResult : EmptyCache {
  template <class Ctx>
  typename Ctx::tensor backward_weight(Ctx& ctx, Cache<Ctx>& cache) const;
};

using MinimalSplitLayer = Archetype<NoParameters, Forward, Backward, InputHalf, WeightHalf>;

static_assert(SplitsBackward<Archetype<InputHalf, WeightHalf>>);
static_assert(!SplitsBackward<InputHalf>);
static_assert(!SplitsBackward<Archetype<InputHalf, WeightHalfWithGradient>>);
static_assert(!SplitsBackward<Archetype<InputHalf, WeightHalfWithResult>>);

static_assert(SplitLayer<MinimalSplitLayer> && Layer<MinimalSplitLayer>);
static_assert(!SplitLayer<MinimalLayer>);
static_assert(!SplitLayer<Archetype<NoParameters, Forward, InputHalf, WeightHalf>>,
              "it has no whole backward");

// ---- LossLayer ----

struct ForwardToLoss : EmptyCache {
  template <class Ctx>
  typename Ctx::loss forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const;
};
struct ForwardToNumber : EmptyCache {
  template <class Ctx>
  double forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const;
};

using MinimalLossLayer = Archetype<ForwardToLoss, BackwardWithoutGradient>;

static_assert(ForwardMapsStreamToLoss<ForwardToLoss>);
static_assert(!ForwardMapsStreamToLoss<ForwardToNumber>, "a loss stays in device memory");
static_assert(!ForwardMapsStreamToLoss<Forward>);
static_assert(BackwardStartsFromSeed<BackwardWithoutGradient>);
static_assert(!BackwardStartsFromSeed<Backward>);
static_assert(!BackwardStartsFromSeed<ForwardToLoss>);

static_assert(LossLayer<MinimalLossLayer> && !Layer<MinimalLossLayer> && !InputLayer<MinimalLossLayer>);
static_assert(!LossLayer<MinimalLayer>);
static_assert(!LossLayer<Archetype<ForwardToNumber, BackwardWithoutGradient>>);
static_assert(!LossLayer<Archetype<ForwardToLoss, Backward>>);

}  // namespace
}  // namespace triax
