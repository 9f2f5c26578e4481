// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The order in which a pipeline works on its micro-batches.

#pragma once

#include <triax/parallel/policies/axis.hpp>
#include <triax/schedule/any_schedule.hpp>
#include <triax/schedule/one_f_one_b.hpp>

namespace triax {

/// Marks a schedule that a policy's value holds.
struct RunTimeSchedule {};

/// Each rank of the pp axis holds a contiguous part of the model's units, cut so that the dearest part is
/// cheap. As a type, `PipelineStage<OneFOneB>`; as a value, `PipelineStage<>{GPipe{}}`.
template <class S = RunTimeSchedule>
struct PipelineStage {
  using axis = triax::axis::schedule;
  using schedule_type = S;

  static constexpr AnySchedule schedule = S{};
};
template <>
struct PipelineStage<RunTimeSchedule> {
  using axis = triax::axis::schedule;
  using schedule_type = RunTimeSchedule;

  AnySchedule schedule = OneFOneB{};
};

}  // namespace triax
