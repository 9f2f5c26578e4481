// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A model on one rank behind virtual functions: many tests share one compilation of the engine.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <triax/comm/mesh.hpp>
#include <triax/optim/adamw.hpp>
#include <triax/optim/one_of.hpp>
#include <triax/optim/sgd.hpp>
#include <triax/parallel/engine.hpp>
#include <triax/schedule/gpipe.hpp>

namespace triax::test {

using AnyOptimizer = OneOf<AdamW, Sgd>;

/// Everything that a strategy of values says, beside precision.
struct Policies {
  Stage stage = Stage::none;
  Accumulate accumulate = Accumulate::by_stage;
  AnySchedule schedule = OneFOneB{};
  int micro_batches = 1;
  DataParallel<> gradients{};
  By clip = By::none;
  float clip_limit = 1;
  LossScale loss_scale{};
  Rounding rounding = Rounding::nearest;
};

/// What a rank's model can do; see Engine, whose members these are.
class ModelRank {
 public:
  virtual ~ModelRank() = default;

  virtual void reserve(const BatchShape& shape) = 0;
  virtual StepResult step(const Batch<Host>& batch) = 0;
  virtual StepResult forward_backward(const Batch<Host>& batch) = 0;
  virtual StepResult update() = 0;
  virtual LossSum evaluate(const Batch<Host>& batch) = 0;
  /// The elements of `forward`'s output as floats; empty on all stages but the last.
  virtual std::vector<float> forward(const Batch<Host>& batch) = 0;
  /// The same, handed to all ranks by `gather_output`.
  virtual std::vector<float> forward_everywhere(const Batch<Host>& batch) = 0;

  virtual std::vector<std::string> parameter_paths() = 0;
  virtual std::vector<float> parameter(const std::string& path) = 0;
  virtual void set_parameter(const std::string& path, const std::vector<float>& values) = 0;
  virtual std::vector<float> gradient(const std::string& path) = 0;
  virtual std::vector<float> optimizer_state(const std::string& path, int index) = 0;
  virtual std::int64_t step_count(const std::string& path) = 0;

  virtual Plan plan(const BatchShape& shape) = 0;
  virtual Measured measured() = 0;
  /// What the model's device holds at present.
  virtual std::size_t allocated() = 0;
  /// Of the activation arenas, so far.
  virtual ActivationTakes takes() = 0;
  virtual std::vector<GroupTraffic> traffic() = 0;
  virtual void reset_traffic() = 0;
  /// For mutants: one all_reduce more over dp, and one float more on the device while the result lives.
  virtual void send_more() = 0;
  virtual std::shared_ptr<void> allocate_more() = 0;
  virtual Coordinates coordinates() = 0;
  virtual Extents extents() = 0;
};

}  // namespace triax::test
