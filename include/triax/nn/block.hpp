// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Several layers as one.

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include <triax/nn/layer.hpp>

namespace triax {

/// Runs its layers one after the other. Their parameters are named "<place>.<name>".
///
/// Spell the type, or use block(...): `Block{Block{...}}` copies by the rules of class template deduction
/// instead of nesting.
template <class... Layers>
class Block {
 public:
  template <class Ctx>
  struct Cache {
    std::tuple<typename Layers::template Cache<Ctx>...> parts;
  };

  constexpr Block() = default;
  constexpr explicit Block(Layers... layers)
    requires(sizeof...(Layers) > 0)
      : layers_(std::move(layers)...) {}

  std::array<Parameter, static_cast<std::size_t>((parameter_count<Layers> + ... + 0))> parameters() const {
    std::array<Parameter, static_cast<std::size_t>((parameter_count<Layers> + ... + 0))> all;
    std::size_t next = 0;
    int place = 0;
    const auto append = [&](const auto& layer) {
      for (Parameter& parameter : layer.parameters()) {
        parameter.name = std::to_string(place) + "." + parameter.name;
        all[next++] = std::move(parameter);
      }
      ++place;
    };
    std::apply([&](const Layers&... layer) { (append(layer), ...); }, layers_);
    return all;
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    each(std::make_index_sequence<size>{}, [&]<std::size_t I>(Index<I>) {
      Scope scope(ctx.scratch_arena());
      Ctx inner = ctx.sublayer(static_cast<int>(I), first_parameter<I>);
      x = std::get<I>(layers_).forward(inner, x, std::get<I>(cache.parts));
    });
    return x;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    each_reversed(std::make_index_sequence<size>{}, [&]<std::size_t I>(Index<I>) {
      Scope scope(ctx.scratch_arena());
      Ctx inner = ctx.sublayer(static_cast<int>(I), first_parameter<I>);
      dy = std::get<I>(layers_).backward(inner, dy, std::get<I>(cache.parts));
    });
    return dy;
  }

  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const
    requires(SplitLayer<Layers, Ctx> && ...)
  {
    each_reversed(std::make_index_sequence<size>{}, [&]<std::size_t I>(Index<I>) {
      Scope scope(ctx.scratch_arena());
      Ctx inner = ctx.sublayer(static_cast<int>(I), first_parameter<I>);
      dy = std::get<I>(layers_).backward_input(inner, dy, std::get<I>(cache.parts));
    });
    return dy;
  }

  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const
    requires(SplitLayer<Layers, Ctx> && ...)
  {
    each_reversed(std::make_index_sequence<size>{}, [&]<std::size_t I>(Index<I>) {
      Scope scope(ctx.scratch_arena());
      Ctx inner = ctx.sublayer(static_cast<int>(I), first_parameter<I>);
      std::get<I>(layers_).backward_weight(inner, std::get<I>(cache.parts));
    });
  }

  const std::tuple<Layers...>& layers() const { return layers_; }

 private:
  static constexpr std::size_t size = sizeof...(Layers);
  template <std::size_t I>
  using Index = std::integral_constant<std::size_t, I>;

  template <std::size_t... I, class F>
  static void each(std::index_sequence<I...>, F f) {
    (f(Index<I>{}), ...);
  }
  template <std::size_t... I, class F>
  static void each_reversed(std::index_sequence<I...>, F f) {
    (f(Index<size - 1 - I>{}), ...);
  }

  template <std::size_t I>
  static constexpr int first_parameter = [] {
    constexpr int counts[] = {parameter_count<Layers>..., 0};
    int first = 0;
    for (std::size_t i = 0; i < I; ++i) first += counts[i];
    return first;
  }();

  std::tuple<Layers...> layers_{};
};

/// Block by deduction that also nests: block(block(a, b), c).
template <class... Layers>
constexpr Block<Layers...> block(Layers... layers) {
  return Block<Layers...>(std::move(layers)...);
}

}  // namespace triax
