// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A schedule chosen at run time.

#pragma once

#include <triax/schedule/schedule.hpp>

namespace triax {

/// Any schedule as a value: `AnySchedule schedule = OneFOneB{};`. Usable in constant expressions.
struct AnySchedule {
  using Generator = void (*)(ScheduleBuilder& builder, int ranks, int micro_batches);

  const char* name;
  Generator generate;
  int virtual_stages = 1;
  Passes passes = Passes::forward_backward;
  Placement placement = round_robin;

  constexpr AnySchedule(const char* schedule_name, Generator generator)
      : name(schedule_name), generate(generator) {}

  template <Schedule S>
  constexpr AnySchedule(S)  // NOLINT(google-explicit-constructor): a schedule's type stands for its value
      : name(S::name), generate(generate_with<S>) {
    if constexpr (requires { S::virtual_stages; }) virtual_stages = S::virtual_stages;
    if constexpr (requires { S::passes; }) passes = S::passes;
    if constexpr (requires { S::placement(0, 0, 1); }) placement = S::placement;
  }

  /// What a table of this schedule is made for.
  constexpr TableShape shape(int ranks, int micro_batches) const {
    return {ranks, micro_batches, virtual_stages, passes, placement};
  }

 private:
  template <Schedule S>
  static constexpr void generate_with(ScheduleBuilder& builder, int ranks, int micro_batches) {
    S::generate(builder, ranks, micro_batches);
  }
};

}  // namespace triax
