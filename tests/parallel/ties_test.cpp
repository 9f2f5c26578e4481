// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Tied parameters of whole models: holders in one unit, on one stage and on several.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/models/probe.hpp"
#include "support/models/training.hpp"
#include "support/sanitizers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, std::vector<float>> weights;
  std::map<std::string, std::vector<float>> first_gradients;
};

const std::string holders_of_a[] = {"1.0.first", "2.0.second", "5.0.first"};
const std::string holders_of_b[] = {"1.0.second", "2.0.first"};
const std::string holders_of_c[] = {"4.0.first", "4.0.second"};

/// Three ties: over several units, between neighbours, and within a unit. Cut into three stages, the first
/// has holders of two stages; cut into two, "a" has two holders on the first.
ProbeOptions tied_probe() {
  ProbeOptions options;
  options.units[1].ties = {"a", "b"};
  options.units[2].ties = {"b", "a"};
  options.units[4].ties = {"c", "c"};
  options.units[5].ties = {"a", ""};
  options.policies.micro_batches = 3;
  options.policies.clip = By::norm;
  options.policies.clip_limit = 0.1F;
  return options;
}

Outcome train(const ProbeOptions& options) {
  Outcome outcome;
  run_threads(options.mesh.product(), [&](ThreadCommunicator world) {
    const bool first = world.rank() == 0;
    const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
    for (int step = 0; step < 8; ++step) {
      const ValueBatch values(step, 12, 3, 6);
      const StepResult result =
          model->forward_backward(values.part(model->coordinates().dp, model->extents().dp));
      if (step == 0)
        for (const std::string& path : model->parameter_paths()) {
          if (path[0] == '3') continue;  // frozen
          std::vector<float> gradient = model->gradient(path);
          if (first) outcome.first_gradients[path] = std::move(gradient);
        }
      model->update();
      if (!first) continue;
      outcome.losses.push_back(result.loss());
      outcome.norms.push_back(result.grad_norm());
    }
    for (const std::string& path : model->parameter_paths()) {
      std::vector<float> values = model->parameter(path);
      if (first) outcome.weights[path] = std::move(values);
    }
  });
  return outcome;
}

template <class Holders>
void check_equal(const std::map<std::string, std::vector<float>>& values, const Holders& holders) {
  for (const std::string& path : holders) {
    CAPTURE(path);
    CHECK(values.at(path) == values.at(holders[0]));
  }
}

void check_ties(const Outcome& outcome) {
  for (const auto* values : {&outcome.weights, &outcome.first_gradients}) {
    check_equal(*values, holders_of_a);
    check_equal(*values, holders_of_b);
    check_equal(*values, holders_of_c);
  }
  CHECK(outcome.weights.at("5.0.second") != outcome.weights.at("5.0.first"));
}

}  // namespace

TEST_CASE("holders of a tie stay the same bits in every layout, which all train alike") {
  const ProbeOptions options = tied_probe();
  const Outcome one_rank = train(options);
  check_ties(one_rank);
  std::vector<Extents> meshes{{.pp = 2}, {.dp = 2, .pp = 3}};
  if (!sanitized) meshes.insert(meshes.end(), {{.dp = 2}, {.pp = 3}, {.dp = 3, .pp = 5}});
  for (const Extents& mesh : meshes) {
    for (const Stage stage : {Stage::none, Stage::optimizer, Stage::gradients, Stage::parameters}) {
      for (const std::size_t bucket : {std::size_t{1}, std::size_t{1} << 20}) {
        ProbeOptions other = options;
        other.mesh = mesh;
        other.policies.stage = stage;
        other.policies.gradients.bucket_bytes = bucket;
        other.policies.gradients.first_bucket_bytes = bucket;
        CAPTURE(mesh.dp);
        CAPTURE(mesh.pp);
        CAPTURE(static_cast<int>(stage));
        const Outcome outcome = train(other);
        check_ties(outcome);
        CHECK(worst_relative(outcome.losses, one_rank.losses) <= 1e-5);
        CHECK(worst_relative(outcome.norms, one_rank.norms) <= 1e-5);
        CHECK(worst_difference(outcome.weights, one_rank.weights) <= 2e-5);
        CHECK(worst_difference(outcome.first_gradients, one_rank.first_gradients) <= 1e-6);
      }
    }
  }
}

TEST_CASE("the gradient of a tied parameter is the slope over all holders, and counts once in the norm") {
  run_threads(1, [](ThreadCommunicator world) {
    const auto model = make_probe(ThreadWorldRank(std::move(world)), tied_probe());
    const ValueBatch values(0, 12, 3, 6);
    const auto loss = [&] { return model->forward_backward(values.part(0, 1)).loss(); };
    const double norm = (loss(), model->forward_backward(values.part(0, 1)).grad_norm());
    double squares = 0;
    for (const std::string path :
         {"1.0.first", "1.0.second", "4.0.first", "5.0.second"})  // each parameter once
      for (const float g : model->gradient(path)) squares += static_cast<double>(g) * static_cast<double>(g);
    CHECK(norm * norm == doctest::Approx(squares).epsilon(1e-6));

    for (const std::string path : {"2.0.second", "4.0.second"}) {
      loss();
      const std::vector<float> gradient = model->gradient(path);
      const std::vector<float> weights = model->parameter(path);
      for (const std::size_t i : {0U, 13U, 35U}) {
        const auto at = [&](double change) {
          std::vector<float> moved = weights;
          moved[i] = static_cast<float>(static_cast<double>(weights[i]) + change);
          model->set_parameter(path, moved);  // and the other holders
          return loss();
        };
        const double slope = (at(0x1p-6) - at(-0x1p-6)) / 0x1p-5;
        model->set_parameter(path, weights);
        CHECK(static_cast<double>(gradient[i]) == doctest::Approx(slope).epsilon(2e-3));
      }
    }
  });
}

TEST_CASE("when one holder of a tie alone has a gradient, all are updated") {
  for (const Extents& mesh : {Extents{}, Extents{.dp = 2}, Extents{.pp = 5}}) {
    ProbeOptions options = tied_probe();
    options.mesh = mesh;
    options.units[2].misdeed = Misdeed::no_gradient;  // of its second matrix, which is an "a"
    check_ties(train(options));
    CAPTURE(mesh.dp);
    run_threads(mesh.product(), [&](ThreadCommunicator world) {
      const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
      model->step(ValueBatch(0, 12, 3, 6).part(model->coordinates().dp, mesh.dp));
      CHECK(model->step_count("1.0.first") == 1);
      CHECK(model->step_count("2.0.second") == 1);
    });
  }
}

TEST_CASE("ties of unequal parameters are refused") {
  ProbeOptions options;
  options.units[1].ties = {"a", ""};
  options.units[4] = {.ties = {"a", ""}, .frozen = true};
  const auto train_once = [&] {
    run_threads(1, [&](ThreadCommunicator world) {
      make_probe(ThreadWorldRank(std::move(world)), options)->step(ValueBatch(0, 2, 3, 6).part(0, 1));
    });
  };
  CHECK_THROWS_WITH_AS(train_once(),
                       doctest::Contains("parameters 1.0.first and 4.0.first are tied as 'a', but differ in"),
                       ConfigError);
}
