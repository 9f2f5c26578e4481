// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The definition of make_trainer, which compiles the engine.

#pragma once

#include <triax/parallel/parallel.hpp>

#include "faults/trainer.hpp"

namespace triax::test {

template <class T>
class TrainerOf final : public Trainer {
 public:
  TrainerOf(ThreadCommunicator world, const Setup& setup)
      : setup_(setup),
        mesh_(world, setup.extents),
        model_(net_of(setup), strategy_of(setup), mesh_, setup.optimizer, setup.seed) {}

  void reserve(const BatchShape& shape) override { model_.reserve(shape); }
  Outcome step(const Rows& rows) override { return read(model_.step(rows.batch())); }
  Outcome forward_backward(const Rows& rows) override { return read(model_.forward_backward(rows.batch())); }
  Outcome update() override { return read(model_.update()); }
  LossSum evaluate(const Rows& rows) override { return model_.evaluate(rows.batch()); }
  std::vector<float> forward(const Rows& rows) override {
    const auto output = model_.gather_output(model_.forward(rows.batch()), rows.batch());
    std::vector<float> values;
    for (const T value : output.stream().span()) values.push_back(static_cast<float>(value));
    return values;
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
  RankBytes bytes() override { return model_.measured().bytes; }
  Plan planned(const BatchShape& shape) override {
    return plan(net_of(setup_), strategy_of(setup_), mesh_, setup_.optimizer, shape);
  }

 private:
  using Policies = Strategy<DataParallel<>, Sharded<>, MicroBatches<>, PipelineStage<>, MixedPrecision<T>,
                            Clip<>, Recorder>;

  static ScriptedNet net_of(const Setup& setup) {
    ScriptedNet net = setup.net;
    std::get<1>(net.layers).script = setup.script;
    std::get<2>(net.layers).script = setup.script;
    std::get<3>(net.layers).layer.script = setup.script;
    return net;
  }
  static Policies strategy_of(const Setup& setup) {
    return {setup.data_parallel,
            Sharded<>{setup.stage, setup.accumulate},
            MicroBatches<>{setup.micro_batches},
            PipelineStage<>{setup.schedule},
            MixedPrecision<T>{setup.loss_scale, setup.rounding},
            setup.clip,
            Recorder{setup.script}};
  }
  static Outcome read(const StepResult& result) {
    return {result.loss(),       result.grad_norm(),     result.tokens(),        result.applied(),
            result.loss_scale(), result.learning_rate(), result.applied_steps(), result.skipped_steps()};
  }

  Setup setup_;
  Mesh<ThreadCommunicator> mesh_;
  Parallel<ScriptedNet, Policies, Mesh<ThreadCommunicator>, OneOf<Sgd, AdamW>> model_;
};

template <class T>
std::unique_ptr<Trainer> make_trainer(ThreadCommunicator world, const Setup& setup) {
  return std::make_unique<TrainerOf<T>>(std::move(world), setup);
}

}  // namespace triax::test
