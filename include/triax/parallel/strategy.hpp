// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A list of policies, in any order.

#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <triax/parallel/policies.hpp>

namespace triax {

/// The policies that a model is trained under. Each answers one question; questions without an answer take
/// the default: nothing sharded, one micro-batch, fp32, no clipping.
template <class... Policies>
class Strategy {
 public:
  constexpr Strategy() = default;
  constexpr explicit(sizeof...(Policies) == 1) Strategy(Policies... policies)
    requires(sizeof...(Policies) > 0)
      : policies_(std::move(policies)...) {}

  /// How many policies answer the question of `Axis`.
  template <class Axis>
  static constexpr int count = (int{answers<Policies, Axis>} + ... + 0);
  /// Whether every argument is a policy.
  static constexpr bool all_policies = (Policy<Policies> && ...);

  /// The first policy that answers the question of `Axis`; `Default{}` when none does.
  template <class Axis, class Default>
  constexpr auto get() const {
    if constexpr (count<Axis> == 0)
      return Default{};
    else
      return std::get<place<Axis>>(policies_);
  }

  /// Calls f with every hook, in the order of the list.
  template <class F>
  constexpr void each_hook(F f) {
    const auto call = [&](auto& policy) {
      if constexpr (answers<std::remove_reference_t<decltype(policy)>, axis::hook>) f(policy);
    };
    std::apply([&](auto&... policies) { (call(policies), ...); }, policies_);
  }

 private:
  template <class Axis>
  static constexpr std::size_t place = [] {
    constexpr bool matches[] = {answers<Policies, Axis>..., true};
    std::size_t i = 0;
    while (!matches[i]) ++i;
    return i;
  }();

  std::tuple<Policies...> policies_{};
};
template <class... Policies>
Strategy(Policies...) -> Strategy<Policies...>;

/// The type in which a strategy's layers compute.
template <class S>
using compute_t = typename decltype(S{}.template get<axis::precision, FullPrecision>())::compute;

}  // namespace triax
