// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What makes a type a policy: the one question that it answers.

#pragma once

#include <type_traits>

namespace triax {

/// The questions that policies answer. A Strategy has at most one policy for each, except for hooks.
namespace axis {
struct gradients {};
struct sharding {};
struct micro_batches {};
struct schedule {};
struct precision {};
struct tensor {};
struct context {};
struct experts {};
struct activations {};
struct clipping {};
struct hook {};
}  // namespace axis

/// A policy names the axis whose question it answers.
template <class P>
concept Policy = requires { typename P::axis; };

/// Whether P answers the question of `Axis`.
template <class P, class Axis>
inline constexpr bool answers = false;
template <class P, class Axis>
  requires requires { typename P::axis; }
inline constexpr bool answers<P, Axis> = std::is_same_v<typename P::axis, Axis>;

}  // namespace triax
