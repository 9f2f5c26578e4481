// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What makes a type a layer. A layer is a plain value that holds shapes only: the engine owns parameters,
// gradients and caches and hands them in per call.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include <triax/comm/meter_communicator.hpp>
#include <triax/device/host.hpp>
#include <triax/device/meter.hpp>
#include <triax/nn/context.hpp>
#include <triax/nn/parameter.hpp>

namespace triax {

/// The context with which concepts probe a layer. Probing instantiates declarations only.
using ProbeCtx = Ctx<float, Meter<Host>, MeterCommunicator>;

template <class L, class Context>
using cache_t = typename L::template Cache<Context>;

namespace detail {
template <class Array>
inline constexpr int parameter_array_size = -1;
template <std::size_t N>
inline constexpr int parameter_array_size<std::array<Parameter, N>> = static_cast<int>(N);
}  // namespace detail

/// `parameters()` returns std::array<Parameter, N>: the count is part of the type.
template <class L>
concept DeclaresParameters = requires(const L& layer) {
  layer.parameters();
} && (detail::parameter_array_size<decltype(std::declval<const L&>().parameters())> >= 0);

/// A nested `template <class Ctx> struct Cache` holds what backward needs.
template <class L, class Context = ProbeCtx>
concept HasCache = requires { typename L::template Cache<Context>; };

template <class L, class Context = ProbeCtx>
concept ForwardMapsStreamToStream =
    requires(const L& layer, Context& ctx, typename Context::tensor x, cache_t<L, Context>& cache) {
      { layer.forward(ctx, x, cache) } -> std::same_as<typename Context::tensor>;
    };

template <class L, class Context = ProbeCtx>
concept BackwardMapsStreamToStream =
    requires(const L& layer, Context& ctx, typename Context::tensor dy, cache_t<L, Context>& cache) {
      { layer.backward(ctx, dy, cache) } -> std::same_as<typename Context::tensor>;
    };

/// Maps the stream to the stream. The stream has shape {sequences, tokens, features} of this rank and the
/// compute type.
template <class L, class Context = ProbeCtx>
concept Layer = DeclaresParameters<L> && HasCache<L, Context> && ForwardMapsStreamToStream<L, Context> &&
                BackwardMapsStreamToStream<L, Context>;

template <class L, class Context = ProbeCtx>
concept ForwardMakesStream = requires(const L& layer, Context& ctx, cache_t<L, Context>& cache) {
  { layer.forward(ctx, cache) } -> std::same_as<typename Context::tensor>;
};

template <class L, class Context = ProbeCtx>
concept BackwardEndsStream =
    requires(const L& layer, Context& ctx, typename Context::tensor dy, cache_t<L, Context>& cache) {
      { layer.backward(ctx, dy, cache) } -> std::same_as<void>;
    };

/// A model's first layer: makes the stream from `ctx.batch()`.
template <class L, class Context = ProbeCtx>
concept InputLayer = DeclaresParameters<L> && HasCache<L, Context> && ForwardMakesStream<L, Context> &&
                     BackwardEndsStream<L, Context>;

template <class L, class Context = ProbeCtx>
concept SplitsBackward =
    requires(const L& layer, Context& ctx, typename Context::tensor dy, cache_t<L, Context>& cache) {
      { layer.backward_input(ctx, dy, cache) } -> std::same_as<typename Context::tensor>;
      { layer.backward_weight(ctx, cache) } -> std::same_as<void>;
    };

/// A layer whose backward comes in two halves, so that a schedule can delay the weight gradients. What
/// `backward_input` leaves for `backward_weight` is saved or an argument. Under Frozen only `backward_input`
/// runs.
template <class L, class Context = ProbeCtx>
concept SplitLayer = Layer<L, Context> && SplitsBackward<L, Context>;

template <class L, class Context = ProbeCtx>
concept ForwardMapsStreamToLoss =
    requires(const L& layer, Context& ctx, typename Context::tensor x, cache_t<L, Context>& cache) {
      { layer.forward(ctx, x, cache) } -> std::same_as<typename Context::loss>;
    };

template <class L, class Context = ProbeCtx>
concept BackwardStartsFromSeed = requires(const L& layer, Context& ctx, cache_t<L, Context>& cache) {
  { layer.backward(ctx, cache) } -> std::same_as<typename Context::tensor>;
};

/// Ends the stream in one LossSum in device memory, a sum over this rank's tokens; its backward is scaled by
/// `*ctx.seed()`, read in a kernel. A loss that ignores some tokens beyond those of weight 0 has
/// `count(ctx, sum)`, which adds the weights that count to a double in device memory.
template <class L, class Context = ProbeCtx>
concept LossLayer =
    HasCache<L, Context> && ForwardMapsStreamToLoss<L, Context> && BackwardStartsFromSeed<L, Context>;

/// How many parameters a layer declares.
template <DeclaresParameters L>
inline constexpr int parameter_count =
    detail::parameter_array_size<decltype(std::declval<const L&>().parameters())>;

}  // namespace triax
