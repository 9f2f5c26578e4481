// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Parallel over the scripted model, behind functions: the engine is compiled once for each precision.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <triax/comm/threads.hpp>
#include <triax/optim/adamw.hpp>
#include <triax/optim/one_of.hpp>
#include <triax/optim/sgd.hpp>
#include <triax/parallel/plan.hpp>
#include <triax/parallel/policies.hpp>

#include "faults/scripted.hpp"

namespace triax::test {

/// A batch for the scripted model: for each token the slopes of its loss, and its weight.
class Rows {
 public:
  /// `slopes[i]` belongs to sequence i, of one token; so does `weights[i]`, 1 when left out.
  static Rows of(const std::vector<std::vector<float>>& slopes, std::vector<float> weights = {}) {
    Rows rows;
    rows.sequences_ = static_cast<std::int64_t>(slopes.size());
    rows.columns_ = static_cast<std::int64_t>(slopes.at(0).size());
    for (const std::vector<float>& row : slopes)
      rows.values_.insert(rows.values_.end(), row.begin(), row.end());
    rows.weights_ = std::move(weights);
    rows.targets_.resize(slopes.size());
    return rows;
  }

  /// The same with several tokens a sequence.
  Rows in_sequences_of(std::int64_t tokens) const {
    Rows result = *this;
    result.sequences_ = sequences_ * tokens_ / tokens;
    result.tokens_ = tokens;
    return result;
  }
  /// All sequences, and all once more.
  Rows twice() const {
    Rows result = *this;
    result.sequences_ = 2 * sequences_;
    const auto repeat = [](auto& list) {
      const auto once = list;
      list.insert(list.end(), once.begin(), once.end());
    };
    repeat(result.values_);
    repeat(result.weights_);
    repeat(result.targets_);
    return result;
  }
  /// The same with the i-th token ignored.
  Rows ignoring(std::size_t i) const {
    Rows result = *this;
    result.targets_.at(i) = StreamAsLoss::ignore;
    return result;
  }
  Batch<Host> batch() const {
    const Shape shape{sequences_, tokens_};
    return {
        Tensor<const float, Host>(values_.data(), {sequences_, tokens_, columns_}),
        Tensor<const std::int32_t, Host>(targets_.data(), shape),
        weights_.empty() ? Tensor<const float, Host>{} : Tensor<const float, Host>(weights_.data(), shape)};
  }

 private:
  std::int64_t sequences_ = 0;
  std::int64_t tokens_ = 1;
  std::int64_t columns_ = 0;
  std::vector<float> values_{};
  std::vector<float> weights_{};
  std::vector<std::int32_t> targets_{};
};

/// The parameter `name` of the scripted model, filled with `value`.
inline Parameter filled(std::string name, Shape shape, float value) {
  return {.name = std::move(name), .shape = shape, .init = Initialiser::constant(value)};
}
/// A model of up to six parameters in two layers, and of `scales` Scales.
inline ScriptedNet scripted_net(std::vector<Parameter> first, std::vector<Parameter> second = {},
                                int scales = 0) {
  const auto layer = [](std::vector<Parameter>& parameters, const char* spare) {
    Dots dots;
    for (std::size_t i = 0; i < dots.declared.size(); ++i)
      dots.declared[i] = i < parameters.size() ? parameters[i] : filled(spare + std::to_string(i), {0}, 0);
    return dots;
  };
  Dots before = layer(first, "spare");
  Dots after = layer(second, "spare");
  for (const Parameter& parameter : first) after.first_column += parameter.shape.size();
  return {{Source{}, before, after, Repeat{Scale{}, scales}}, {}};
}

/// What one rank trains, and how.
struct Setup {
  ScriptedNet net{};
  Extents extents{};
  OneOf<Sgd, AdamW> optimizer = Sgd{.lr = 0.1};
  Stage stage = Stage::none;
  Accumulate accumulate = Accumulate::by_stage;
  int micro_batches = 1;
  AnySchedule schedule = OneFOneB{};
  Clip<> clip{};
  DataParallel<> data_parallel{};
  LossScale loss_scale{};
  Rounding rounding = Rounding::nearest;
  std::uint64_t seed = 1;
  Script* script = nullptr;  ///< of this rank
};

/// What a StepResult said.
struct Outcome {
  double loss = 0;
  double norm = 0;
  double tokens = 0;
  bool applied = false;
  float loss_scale = 0;
  float learning_rate = 0;
  std::int64_t applied_steps = 0;
  std::int64_t skipped_steps = 0;
};

/// A model on one rank; functions as in Parallel.
class Trainer {
 public:
  Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  virtual ~Trainer() = default;

  virtual void reserve(const BatchShape& shape) = 0;
  virtual Outcome step(const Rows& rows) = 0;
  virtual Outcome forward_backward(const Rows& rows) = 0;
  virtual Outcome update() = 0;
  virtual LossSum evaluate(const Rows& rows) = 0;
  virtual std::vector<float> forward(const Rows& rows) = 0;
  virtual std::vector<std::string> parameter_paths() = 0;
  virtual std::vector<float> parameter(const std::string& path) = 0;
  virtual void set_parameter(const std::string& path, const std::vector<float>& values) = 0;
  virtual std::vector<float> gradient(const std::string& path) = 0;
  virtual std::vector<float> optimizer_state(const std::string& path, int index) = 0;
  virtual std::int64_t step_count(const std::string& path) = 0;
  virtual RankBytes bytes() = 0;  ///< measured
  virtual Plan planned(const BatchShape& shape) = 0;
};

/// The trainer of one rank of `world`, computing in T. Defined where trainer_of.hpp is included.
template <class T>
std::unique_ptr<Trainer> make_trainer(ThreadCommunicator world, const Setup& setup);

/// run_threads, compiled once.
void on_ranks(int ranks, const std::function<void(ThreadCommunicator world)>& f);

/// All sharding stages.
inline constexpr std::array every_stage{Stage::none, Stage::optimizer, Stage::gradients, Stage::parameters};

}  // namespace triax::test
