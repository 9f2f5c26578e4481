// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Puts a model of any type behind ModelRank.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <triax/parallel/parallel.hpp>
#include <triax/parallel/plan.hpp>

#include "support/models/model_rank.hpp"

namespace triax::test {

/// A strategy in which all is chosen at run time, except for what layers compute in. `Hooks` may be empty.
template <class Precision, class... Hooks>
using RunTimeStrategy =
    Strategy<DataParallel<>, Sharded<>, MicroBatches<>, PipelineStage<>, Precision, Clip<>, Hooks...>;

template <class Precision, class... Hooks>
RunTimeStrategy<Precision, Hooks...> strategy_of(const Policies& policies, const Hooks&... hooks) {
  return {policies.gradients,
          Sharded<>{policies.stage, policies.accumulate},
          MicroBatches<>{policies.micro_batches},
          PipelineStage<>{policies.schedule},
          Precision{.loss_scale = policies.loss_scale, .rounding = policies.rounding},
          Clip<>{policies.clip, policies.clip_limit},
          hooks...};
}

template <class Net, class S, class World, class Optimizer = AnyOptimizer>
class ModelRankOf final : public ModelRank {
 public:
  ModelRankOf(World world, const Extents& extents, Net net, S strategy, Optimizer optimizer,
              std::uint64_t seed = 1)
      : net_(net),
        strategy_(strategy),
        optimizer_(optimizer),
        mesh_(std::move(world), extents),
        model_(std::move(net), std::move(strategy), mesh_, std::move(optimizer), seed) {}

  void reserve(const BatchShape& shape) override { model_.reserve(shape); }
  StepResult step(const Batch<Host>& batch) override { return model_.step(batch); }
  StepResult forward_backward(const Batch<Host>& batch) override { return model_.forward_backward(batch); }
  StepResult update() override { return model_.update(); }
  LossSum evaluate(const Batch<Host>& batch) override { return model_.evaluate(batch); }
  std::vector<float> forward(const Batch<Host>& batch) override { return floats(model_.forward(batch)); }
  std::vector<float> forward_everywhere(const Batch<Host>& batch) override {
    return floats(model_.gather_output(model_.forward(batch), batch));
  }

  std::vector<std::string> parameter_paths() override { return model_.parameter_paths(); }
  std::vector<float> parameter(const std::string& path) override { return model_.parameter(path); }
  void set_parameter(const std::string& path, const std::vector<float>& values) override {
    model_.set_parameter(path, values);
  }
  std::vector<float> gradient(const std::string& path) override { return model_.gradient(path); }
  std::vector<float> optimizer_state(const std::string& path, int index) override {
    return model_.optimizer_state(path, index);
  }
  std::int64_t step_count(const std::string& path) override { return model_.step_count(path); }

  Plan plan(const BatchShape& shape) override {
    return triax::plan(net_, strategy_, mesh_, optimizer_, shape);
  }
  Measured measured() override { return model_.measured(); }
  std::size_t allocated() override { return model_.device().allocated(); }
  ActivationTakes takes() override { return model_.activation_arenas().takes(); }
  std::vector<GroupTraffic> traffic() override { return mesh_.traffic(); }
  void reset_traffic() override { mesh_.reset_traffic(); }
  void send_more() override {
    float number = 1;
    mesh_.group(Axis::dp).all_reduce(std::span(&number, 1)).wait();
  }
  std::shared_ptr<void> allocate_more() override {
    return std::make_shared<Arena<Host>>(model_.device(), sizeof(float), "more");
  }
  Coordinates coordinates() override { return mesh_.coordinates(); }
  Extents extents() override { return mesh_.extents(); }

  Mesh<World>& mesh() { return mesh_; }

 private:
  template <class Output>
  static std::vector<float> floats(const Output& output) {
    std::vector<float> values;
    if (output)
      for (const auto value : output.stream().span()) values.push_back(static_cast<float>(value));
    return values;
  }

  // What the plan is made from: the model has copies of its own.
  Net net_;
  S strategy_;
  Optimizer optimizer_;
  Mesh<World> mesh_;
  Parallel<Net, S, Mesh<World>, Optimizer> model_;
};

}  // namespace triax::test
