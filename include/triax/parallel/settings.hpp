// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Reads a strategy's answers for the engine.

#pragma once

#include <triax/engine/blueprint.hpp>
#include <triax/parallel/strategy.hpp>

namespace triax {

/// The strategy's answers where they are values; absent policies take the defaults of DataParallel<> and so
/// on.
template <class S>
constexpr StepSettings step_settings(const S& strategy) {
  const auto gradients = strategy.template get<axis::gradients, DataParallel<>>();
  const auto sharding = strategy.template get<axis::sharding, Sharded<Stage::none>>();
  const auto micro_batches = strategy.template get<axis::micro_batches, MicroBatches<1>>();
  const auto schedule = strategy.template get<axis::schedule, PipelineStage<OneFOneB>>();
  return {.bucketing = {gradients.bucket_bytes, gradients.first_bucket_bytes,
                        sharding.stage >= Stage::parameters},
          .sharding = sharding_flags(sharding),
          .micro_batches = micro_batches.count,
          .schedule = schedule.schedule};
}

}  // namespace triax
