// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What makes a type a pipeline schedule.

#pragma once

#include <concepts>

#include <triax/schedule/builder.hpp>

namespace triax {

/// An empty type that names an order of work over pipeline ranks.
///
/// * `name`: as used by options and messages;
/// * `generate(builder, ranks, micro_batches)`: a constexpr function that calls the builder for every piece
/// of work;
///   it is the only description, for tables made at compile time and at run time alike.
///
/// Optional members: `virtual_stages` (per rank, 1), `passes` (Passes::forward_backward), and `placement`, a
/// function as in Placement (round_robin).
template <class S>
concept Schedule = std::default_initializable<S> && requires(ScheduleBuilder& builder, int number) {
  { S::name } -> std::convertible_to<const char*>;
  { S::generate(builder, number, number) } -> std::same_as<void>;
};

}  // namespace triax
