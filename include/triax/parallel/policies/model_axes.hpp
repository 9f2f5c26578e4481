// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The policies of the axes that cut a model's layers, sequences and experts, and of what is stored between
// forward and backward.

#pragma once

#include <cstdint>

#include <triax/parallel/policies/axis.hpp>

namespace triax {

/// How the stream is held between tensor-parallel layers.
enum class Layout : std::uint8_t {
  replicated,  ///< every rank holds all tokens
  sequence,    ///< each rank holds a part of the tokens
};

/// Layers are cut over the tp axis.
template <Layout L = Layout::replicated>
struct TensorParallel {
  using axis = triax::axis::tensor;

  static constexpr Layout layout = L;
};

/// Segments of a sequence travel around a ring.
struct Ring {};
/// Heads are exchanged for segments, all to all.
struct Ulysses {};

/// Sequences are cut over the cp axis; says how attention sees the other ranks' tokens.
template <class Exchange = Ring>
struct ContextParallel {
  using axis = triax::axis::context;
};

/// Each expert takes a fixed number of tokens.
struct Capacity {};
/// Each expert takes all tokens routed to it.
struct Dropless {};

/// Experts are spread over the ep axis; says how tokens reach them.
template <class Routing = Capacity>
struct ExpertParallel {
  using axis = triax::axis::experts;
};

/// What a micro-batch leaves in its slot between forward and backward.
enum class Store : std::int8_t {
  run_time = -1,  ///< not a choice: the policy's value says which
  keep,
  recompute,
  selective,
  offload,
};

/// Trades memory for work or traffic.
template <Store S = Store::run_time>
struct Activations {
  using axis = triax::axis::activations;

  static constexpr Store store = S;
};
template <>
struct Activations<Store::run_time> {
  using axis = triax::axis::activations;

  Store store = Store::keep;
};

}  // namespace triax
