// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Training in 16 bits: the loss scale, skipped steps, and the loss beside fp32's.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/models/training.hpp"
#include "support/numbers.hpp"
#include "support/sanitizers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

constexpr Stage stages[] = {Stage::none, Stage::optimizer, Stage::gradients, Stage::parameters};

/// Everything that a step may change, by name.
using Snapshot = std::map<std::string, std::vector<float>>;

Snapshot snapshot(ModelRank& model) {
  Snapshot all;
  for (const std::string& path : model.parameter_paths()) {
    all[path] = model.parameter(path);
    all[path + " first moment"] = model.optimizer_state(path, 0);
    all[path + " second moment"] = model.optimizer_state(path, 1);
    all[path + " updates"] = {static_cast<float>(model.step_count(path))};
  }
  return all;
}

Run run_in(Compute compute) {
  Run run;
  run.model.compute = compute;
  run.model.policies.clip = By::norm;
  run.model.policies.micro_batches = 3;
  run.model.policies.gradients.bucket_bytes = 20000;
  return run;
}

}  // namespace

TEST_CASE("fp16 from a scale of 2^30 skips, then trains, alike in every layout") {
  Run run = run_in(Compute::fp16);
  run.steps = 30;
  run.model.policies.loss_scale.initial = 0x1p30F;
  const History one_rank = train(run);
  CHECK(one_rank.discrepancies == std::vector<std::string>{});
  CHECK(!one_rank.applied.front());
  CHECK(one_rank.applied.back());
  CHECK(one_rank.losses.back() < one_rank.losses.front());
  float scale = 0x1p30F;
  for (std::size_t i = 0; i < one_rank.applied.size(); ++i) {
    if (!one_rank.applied[i]) scale /= 2;
    CHECK(one_rank.loss_scales[i] == scale);
  }
  for (const Stage stage : stages) {
    CAPTURE(static_cast<int>(stage));
    run.model.policies.stage = stage;
    run.model.mesh = {.dp = 2, .pp = 2};
    const History history = train(run);
    CHECK(history.discrepancies == std::vector<std::string>{});
    CHECK(history.applied == one_rank.applied);
    CHECK(history.loss_scales == one_rank.loss_scales);
    CHECK(worst_relative(history.losses, one_rank.losses) <= 1e-3);
  }
}

TEST_CASE("a skipped step changes nothing but the scale and its counters, on every stage") {
  for (const Stage stage : stages) {
    CAPTURE(static_cast<int>(stage));
    GptOptions options = run_in(Compute::fp16).model;
    options.policies.loss_scale = {.initial = 1024, .growth = 0x1p30F, .interval = 2};
    options.policies.stage = stage;
    options.mesh = {.dp = 2, .pp = 2};
    run_threads(options.mesh.product(), [&](ThreadCommunicator world) {
      const bool checks = world.rank() == 0;
      const auto model = make_gpt(ThreadWorldRank(std::move(world)), options);
      const auto step = [&](int number) {
        return model->step(TextBatch(number, 8, 8).part(model->coordinates().dp, 2));
      };
      step(0);
      const StepResult good = step(1);  // the second good step: the scale grows beyond what fp16 can hold
      CHECK(good.applied());
      CHECK(good.loss_scale() == 0x1p40F);
      const Snapshot before = snapshot(*model);
      const StepResult skipped = step(2);
      CHECK(!skipped.applied());
      CHECK(skipped.loss_scale() == 0x1p39F);
      CHECK(skipped.applied_steps() == 2);
      CHECK(skipped.skipped_steps() == 1);
      const Snapshot after = snapshot(*model);
      if (!checks) return;
      REQUIRE(before.size() == after.size());
      for (const auto& [name, values] : before) {
        CAPTURE(name);
        CHECK(same_bits(values, after.at(name)));
      }
    });
  }
}

TEST_CASE("a bf16 GPT learns as an fp32 one does") {
  constexpr std::size_t last = 50;  // losses whose mean is compared: single batches differ
  const auto mean_loss = [](Compute compute, Stage stage) {
    Run run = run_in(compute);
    run.steps = sanitized ? 60 : 300;
    run.model.mesh = {.dp = 2};
    run.model.policies.stage = stage;
    run.model.policies.accumulate = Accumulate::local;
    run.model.optimizer = AdamW{.lr = 3e-3};
    const History history = train(run);
    CHECK(history.discrepancies == std::vector<std::string>{});
    CHECK(history.losses.back() < history.losses.front() - (sanitized ? 0 : 1));
    double sum = 0;
    for (std::size_t i = history.losses.size() - last; i < history.losses.size(); ++i)
      sum += history.losses[i];
    return sum / last;
  };
  const double single = mean_loss(Compute::fp32, Stage::none);
  const double half = mean_loss(Compute::bf16, Stage::none);
  CHECK(half != single);
  CHECK(std::abs(half - single) <= 0.01 * single);
  CHECK(mean_loss(Compute::bf16, Stage::parameters) == half);  // masters on one rank or on two: the same bits
}

TEST_CASE("bf16 masters are rounded stochastically where asked, the same on replicas") {
  Run run = run_in(Compute::bf16);
  run.model.policies.rounding = Rounding::stochastic;
  run.model.policies.accumulate = Accumulate::local;
  run.model.mesh = {.dp = 2, .pp = 2};
  const History whole = train(run);
  run.model.policies.stage = Stage::parameters;
  CHECK(train(run).losses == whole.losses);
  run.model.policies.rounding = Rounding::nearest;
  CHECK(train(run).losses != whole.losses);
}
