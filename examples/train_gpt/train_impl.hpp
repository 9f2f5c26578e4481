// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The definitions of train.hpp.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <triax/triax.hpp>

#include "agree.hpp"
#include "model.hpp"
#include "refusal.hpp"
#include "report.hpp"
#include "sample.hpp"
#include "train.hpp"

namespace train_gpt {

template <class T>
GptPlan make_plan(const Options& options) {
  GptPlan plan;
  refuse_what_cannot_work([&] {
    const Gpt net = make_gpt(options.model);
    const int ranks = options.mesh.dp * options.mesh.pp;
    for (int rank = 0; rank < ranks; ++rank) {
      const PlanCoordinates at{.pp = rank / options.mesh.dp, .world = rank};
      const Plan own = plan_rank<Host>(net, make_strategy<T>(options), options.extents(), at,
                                       make_optimizer(options), batch_shape(options));
      StepTraffic traffic;
      for (const PlannedTraffic& entry : own.traffic) traffic.add(entry.group, entry.traffic.bytes);
      plan.footprint.consider({own.bytes, traffic});
      plan.model_flops += own.model_flops;
      plan.executed_flops += own.executed_flops;
      plan.bubble = own.bubble;
    }
  });
  return plan;
}

/// A run on one rank.
template <class T, class World>
class Training {
  using MeshType = Mesh<Traced<World>>;
  using Clock = std::chrono::steady_clock;

 public:
  /// Takes all memory that the run needs, and begins the report.
  Training(World world, const Options& options, const Text& text)
      : options_(options),
        text_(text),
        plan_(make_plan<T>(options)),
        mesh_(Traced(world), options.extents()),
        model_(make_gpt(options.model), make_strategy<T>(options), mesh_, make_optimizer(options),
               options.train.seed),
        batches_(text, options, mesh_.coordinate(Axis::dp)) {
    model_.reserve(batch_shape(options));
    refuse_together(mesh_.control(), [&] {
      if (mesh_.world().rank() == 0) report_.emplace(options);
    });
  }

  void run() {
    for (int step = 0; step < options_.train.steps; ++step) {
      train_step(step);
      const bool last = step + 1 == options_.train.steps;
      if (last || (options_.eval.every > 0 && (step + 1) % options_.eval.every == 0)) validate();
    }
    if (options_.sample.bytes > 0) {
      const std::string text = sample(model_, text_, options_);
      if (report_) report_->sample(printable(text));
    }
    const Footprint measured = gather_footprint({model_.measured().bytes, traffic_}, mesh_.control());
    if (report_) report_->summary(summary(measured));
  }

 private:
  void train_step(int step) {
    const Clock::time_point start = Clock::now();
    if (step == 0) mesh_.reset_traffic();
    const StepResult result = model_.step(batches_.training(step));
    if (step == 0)
      for (const GroupTraffic& group : mesh_.traffic()) traffic_.add(group.name, group.ledger.total().bytes);
    const StepRecord record{.step = step + 1,
                            .loss = result.loss(),
                            .grad_norm = result.grad_norm(),
                            .lr = result.learning_rate(),
                            .loss_scale = result.loss_scale(),
                            .applied = result.applied(),
                            .tokens = result.tokens(),
                            .seconds = std::chrono::duration<double>(Clock::now() - start).count()};
    outcome_.last = record;
    outcome_.skipped_steps = result.skipped_steps();
    outcome_.tokens += record.tokens;
    outcome_.seconds += record.seconds;
    if (report_) report_->step(record);
  }

  void validate() {
    LossSum sum;
    for (std::int64_t i = 0; i < batches_.validations(); ++i) {
      const LossSum batch = model_.evaluate(batches_.validation(i));
      sum.sum += batch.sum;
      sum.weight += batch.weight;
    }
    outcome_.validation_loss = sum.sum / sum.weight;
    outcome_.validation_bytes = sum.weight;
    if (report_) report_->validation(outcome_);
  }

  JsonObject summary(const Footprint& measured) const {
    JsonObject planned;
    plan_.footprint.write_to(planned);
    JsonObject summary;
    summary.add("steps", options_.train.steps)
        .add("loss", outcome_.last.loss)
        .add("validation_loss", outcome_.validation_loss)
        .add("bits_per_byte", outcome_.bits_per_byte())
        .add("validation_bytes", static_cast<std::int64_t>(outcome_.validation_bytes))
        .add("tokens", static_cast<std::int64_t>(outcome_.tokens))
        .add("tokens_per_second", outcome_.tokens / outcome_.seconds)
        .add("world", options_.mesh.dp * options_.mesh.pp)
        .add("mesh", JsonObject().add("dp", options_.mesh.dp).add("pp", options_.mesh.pp))
        .add("skipped_steps", outcome_.skipped_steps)
        .add("loss_scale", outcome_.last.loss_scale);
    measured.write_to(summary);
    return summary.add("plan", planned);
  }

  const Options& options_;
  const Text& text_;
  GptPlan plan_;
  MeshType mesh_;
  Parallel<Gpt, GptStrategy<T>, MeshType, GptOptimizer> model_;
  Batches batches_;
  std::optional<Report> report_;  // on rank 0
  StepTraffic traffic_;           // of the first step; every step sends the same
  Outcome outcome_;
};

template <class T, class World>
void train(World world, const Options& options, const Text& text) {
  std::optional<Training<T, World>> training;
  refuse_what_cannot_work([&] { training.emplace(world, options, text); });
  training->run();
}

}  // namespace train_gpt
