// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Every layout of a GPT on threads against one rank, and against its own plan.

#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/models/training.hpp"
#include "support/sanitizers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

constexpr Stage stages[] = {Stage::none, Stage::optimizer, Stage::gradients, Stage::parameters};
constexpr double adamw_rate = 1e-3;

/// Under a sanitizer everything is slower, so there is less of it.
std::vector<Extents> meshes() {
  if (sanitized) return {{.dp = 2, .pp = 2}, {.dp = 1, .pp = 4}, {.dp = 4, .pp = 1}};
  std::vector<Extents> all;
  for (const int dp : {1, 2, 4})
    for (const int pp : {1, 2, 4}) all.push_back({.dp = dp, .pp = pp});
  return all;
}

/// The run that all layouts repeat: clipping is active, and every mesh cuts the batch into micro-batches of
/// its own.
Run run_with(const AnyOptimizer& optimizer) {
  Run run;
  run.steps = sanitized ? 4 : 20;
  run.model.optimizer = optimizer;
  run.model.policies.clip = By::norm;
  run.model.policies.clip_limit = 0.7F;
  run.model.policies.gradients.bucket_bytes = 20000;
  run.model.policies.gradients.first_bucket_bytes = 4000;
  return run;
}

std::string describe(const Run& run) {
  const Policies& policies = run.model.policies;
  return "dp=" + std::to_string(run.model.mesh.dp) + " pp=" + std::to_string(run.model.mesh.pp) + " stage " +
         std::to_string(static_cast<int>(policies.stage)) + " " + policies.schedule.name + " " +
         std::to_string(policies.micro_batches) + " micro-batches";
}

History checked(const Run& run) {
  const History history = train(run);
  CHECK(history.discrepancies == std::vector<std::string>{});
  return history;
}

/// Trains on every mesh, with every stage and both schedules, and compares with `reference` and with each
/// other.
void compare_layouts(Run run, const History& reference, double weight_tolerance) {
  for (const Extents& mesh : meshes()) {
    run.model.mesh = mesh;
    // Of 8, 4 and 2 sequences a rank: 3, 3 and 2; 2, 1 and 1; 1 and 1, which is fewer than there are stages.
    run.model.policies.micro_batches = 3;
    History first_of_mesh;
    for (const Stage stage : stages) {
      History first_of_stage;
      for (const AnySchedule& schedule : {AnySchedule(GPipe{}), AnySchedule(OneFOneB{})}) {
        run.model.policies.stage = stage;
        run.model.policies.schedule = schedule;
        CAPTURE(describe(run));
        const History history = checked(run);
        CHECK(worst_relative(history.losses, reference.losses) <= 1e-5);
        CHECK(worst_relative(history.norms, reference.norms) <= 1e-4);
        CHECK(worst_difference(history.weights, reference.weights) <= weight_tolerance);
        if (first_of_mesh.losses.empty()) first_of_mesh = history;
        if (first_of_stage.losses.empty()) first_of_stage = history;
        const bool local = run.model.policies.accumulate == Accumulate::local;
        const History& equal = local ? first_of_mesh : first_of_stage;
        CHECK(history.losses == equal.losses);  // the same bits
        CHECK(history.weights == equal.weights);
      }
    }
  }
}

}  // namespace

TEST_CASE("SGD: every mesh, stage and schedule follows one rank, all schedules with the same bits") {
  const Run run = run_with(Sgd{.lr = 0.1, .momentum = 0.9});
  const History one_rank = checked(run);
  CHECK(one_rank.losses.back() < one_rank.losses.front() - (sanitized ? 0 : 0.1));  // it learns
  CHECK(one_rank.norms.front() > 0.7);                                              // and is clipped
  compare_layouts(run, one_rank, 2e-5);
}

TEST_CASE("AdamW: every mesh, stage and schedule follows one rank, all stages with the same bits if local") {
  Run run = run_with(AdamW{.lr = adamw_rate, .weight_decay = 0.1});
  const History one_rank = checked(run);
  CHECK(one_rank.losses.back() < one_rank.losses.front() - (sanitized ? 0 : 0.1));
  run.model.policies.accumulate = Accumulate::local;
  compare_layouts(run, one_rank, adamw_rate / 5);
}

TEST_CASE("with dropout, ignored tokens and an untied head, each axis follows one rank") {
  Run run = run_with(AdamW{.lr = adamw_rate});
  run.model.sizes.dropout = 0.1;
  run.model.sizes.tied = false;
  run.ignored_tokens = true;
  const History one_rank = checked(run);
  CHECK(one_rank.losses != train(run_with(AdamW{.lr = adamw_rate})).losses);
  const auto follows = [&](const Extents& mesh, Stage stage, int micro_batches) {
    Run other = run;
    other.model.mesh = mesh;
    other.model.policies.stage = stage;
    other.model.policies.micro_batches = micro_batches;
    CAPTURE(describe(other));
    const History history = checked(other);
    CHECK(worst_relative(history.losses, one_rank.losses) <= 1e-5);
    CHECK(worst_difference(history.weights, one_rank.weights) <= adamw_rate / 5);
  };
  follows({}, Stage::none, 3);
  follows({.dp = 2}, Stage::none, 1);
  follows({.dp = 4}, Stage::parameters, 2);
  follows({.pp = 4}, Stage::none, 8);
  follows({.dp = 2, .pp = 2}, Stage::gradients, 3);
}

TEST_CASE("two runs give the same bits") {
  Run run = run_with(AdamW{.lr = adamw_rate});
  run.model.mesh = {.dp = 2, .pp = 2};
  run.model.policies.micro_batches = 3;
  run.model.policies.stage = Stage::parameters;
  run.model.sizes.dropout = 0.1;
  const History first = checked(run);
  const History second = checked(run);
  CHECK(first.losses == second.losses);
  CHECK(first.norms == second.norms);
  CHECK(first.weights == second.weights);
  run.model.seed = 2;
  CHECK(train(run).losses != first.losses);
}
