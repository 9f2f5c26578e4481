// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include "support/models/training.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>

#include <triax/core/random.hpp>

namespace triax::test {

TextBatch::TextBatch(int step, std::int64_t sequences, std::int64_t tokens, std::int32_t vocabulary)
    : shape_{sequences, tokens} {
  constexpr std::string_view text = "the quick brown fox jumps over the lazy dog while it rains; ";
  for (std::int64_t i = 0; i < sequences; ++i) {
    const auto number = static_cast<std::uint64_t>(step * sequences + i);
    const std::uint64_t first = random_below(text.size(), 7, number);
    const auto symbol = [&](std::int64_t at) {
      return static_cast<std::int32_t>(text[(first + static_cast<std::uint64_t>(at)) % text.size()]) %
             vocabulary;
    };
    for (std::int64_t t = 0; t < tokens; ++t) {
      inputs_.push_back(symbol(t));
      targets_.push_back(symbol(t + 1));
    }
  }
}

Batch<Host> TextBatch::part(int rank, int ranks) const {
  const std::int64_t count = shape_[0] / ranks;
  const Batch<Host> whole(
      {inputs_.data(), shape_}, {targets_.data(), shape_},
      weights_.empty() ? Tensor<const float, Host>{} : Tensor<const float, Host>{weights_.data(), shape_});
  return whole.slice(rank * count, count);
}

TextBatch TextBatch::with_ignored_tokens() const {
  TextBatch result = *this;
  result.weights_.assign(inputs_.size(), 1.0F);
  for (std::size_t i = 0; i < inputs_.size(); i += 5) result.weights_[i] = 0;
  return result;
}

namespace {

void expect_equal(std::vector<std::string>& list, const std::string& what, std::uint64_t planned,
                  std::uint64_t measured) {
  if (planned != measured)
    list.push_back(what + ": planned " + std::to_string(planned) + ", measured " + std::to_string(measured));
}

}  // namespace

std::vector<std::string> compare_with_plan(ModelRank& model, const BatchShape& shape) {
  const Plan plan = model.plan(shape);
  const Measured measured = model.measured();
  std::vector<std::string> list;
  expect_equal(list, "bytes of parameters", plan.bytes.parameters, measured.bytes.parameters);
  expect_equal(list, "bytes of gradients", plan.bytes.gradients, measured.bytes.gradients);
  expect_equal(list, "bytes of optimizer", plan.bytes.optimizer, measured.bytes.optimizer);
  expect_equal(list, "bytes of buffers", plan.bytes.buffers, measured.bytes.buffers);
  expect_equal(list, "bytes of a slot", plan.activations.slot, measured.activations.slot);
  expect_equal(list, "bytes of flow 0", plan.activations.flow[0], measured.activations.flow[0]);
  expect_equal(list, "bytes of flow 1", plan.activations.flow[1], measured.activations.flow[1]);
  expect_equal(list, "bytes of scratch", plan.activations.scratch, measured.activations.scratch);
  expect_equal(list, "bytes of workspace", plan.activations.workspace, measured.activations.workspace);
  expect_equal(list, "bytes of activations", plan.bytes.activations, measured.bytes.activations);
  expect_equal(list, "bytes of the device", plan.bytes.total(), model.allocated());

  std::size_t planned_entries = 0;
  for (const GroupTraffic& group : model.traffic()) {
    for (std::size_t i = 0; i < operation_count; ++i) {
      const auto operation = static_cast<Operation>(i);
      Traffic planned;
      for (const PlannedTraffic& entry : plan.traffic) {
        if (entry.group != group.name || entry.operation != operation) continue;
        planned += entry.traffic;
        ++planned_entries;
      }
      const std::string what = std::string(" of ") + name(operation) + " over " + group.name;
      expect_equal(list, "messages" + what, planned.messages, group.ledger.of(operation).messages);
      expect_equal(list, "bytes" + what, planned.bytes, group.ledger.of(operation).bytes);
    }
  }
  expect_equal(list, "groups and operations", plan.traffic.size(), planned_entries);
  return list;
}

History train_on(const Run& run, const std::function<void(const std::function<void(ModelRank&)>&)>& begin) {
  History history;
  std::mutex mutex;  // of the discrepancies
  const auto complain = [&](ModelRank& model, const std::string& what) {
    const Coordinates at = model.coordinates();
    const std::lock_guard lock(mutex);
    history.discrepancies.push_back("dp=" + std::to_string(at.dp) + " pp=" + std::to_string(at.pp) + ": " +
                                    what);
  };
  begin([&](ModelRank& model) {
    const Coordinates at = model.coordinates();
    const bool first = at == Coordinates{};
    const int ranks = model.extents().dp;
    const std::int64_t tokens = run.model.sizes.context;
    for (int step = 0; step < run.steps; ++step) {
      TextBatch text(step, run.sequences, tokens, run.model.sizes.vocabulary);
      if (run.ignored_tokens) text = text.with_ignored_tokens();
      model.reset_traffic();
      const StepResult result = model.step(text.part(at.dp, ranks));
      if (step == 1)
        for (const std::string& line : compare_with_plan(model, {run.sequences / ranks, tokens}))
          complain(model, line);
      if (!first) continue;
      history.losses.push_back(result.loss());
      history.norms.push_back(result.grad_norm());
      history.applied.push_back(result.applied());
      history.loss_scales.push_back(result.loss_scale());
    }
    for (const std::string& path : model.parameter_paths()) {
      std::vector<float> values = model.parameter(path);
      if (first) history.weights[path] = std::move(values);
    }
  });
  return history;
}

History train(const Run& run) {
  return train_on(run, [&](const std::function<void(ModelRank&)>& f) {
    run_threads(run.model.mesh.product(), [&](ThreadCommunicator world) {
      const auto model = make_gpt(ThreadWorldRank(std::move(world)), run.model);
      f(*model);
    });
  });
}

double worst_difference(const std::map<std::string, std::vector<float>>& a,
                        const std::map<std::string, std::vector<float>>& b) {
  double worst = a.size() == b.size() && !a.empty() ? 0 : INFINITY;
  for (const auto& [path, values] : a) {
    const auto other = b.find(path);
    if (other == b.end() || other->second.size() != values.size()) return INFINITY;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference =
          std::abs(static_cast<double>(values[i]) - static_cast<double>(other->second[i]));
      if (!(difference <= worst)) worst = std::isnan(difference) ? INFINITY : difference;
    }
  }
  return worst;
}

double worst_relative(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() && !a.empty() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double error = std::abs(a[i] - b[i]) / std::abs(b[i]);
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

}  // namespace triax::test
