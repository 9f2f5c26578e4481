// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a run of train_gpt is asked to do. A member is named like its key: options.train.lr is train.lr=.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <triax/comm/extents.hpp>
#include <triax/parallel/policies/sharded.hpp>

namespace train_gpt {

enum class Communication : std::uint8_t { threads, mpi };
enum class ScheduleName : std::uint8_t { gpipe, one_f_one_b };
enum class Precision : std::uint8_t { fp32, bf16, fp16 };
enum class OptimizerName : std::uint8_t { adamw, sgd };
enum class Decay : std::uint8_t { none, cosine, linear };

struct DataOptions {
  std::string path;  ///< of a text; the last tenth of its bytes is held out for validation
};
struct MeshOptions {
  int dp = 1;  ///< may be triax::automatic
  int pp = 1;
};
struct ModelOptions {
  int layers = 4;
  int heads = 4;
  int width = 128;
  int context = 64;
  double dropout = 0;
};
struct StrategyOptions {
  triax::Stage stage = triax::Stage::none;
  ScheduleName schedule = ScheduleName::one_f_one_b;
  Precision precision = Precision::fp32;
  std::int64_t bucket_bytes = 25 << 20;
  triax::Accumulate accumulate = triax::Accumulate::by_stage;
};
struct TrainingOptions {
  int steps = 100;
  int batch = 16;  ///< sequences a step, over all of dp
  int microbatches = 1;
  OptimizerName optimizer = OptimizerName::adamw;
  double lr = 1e-3;
  std::optional<double> lr_min{};  ///< a tenth of lr if left out
  Decay decay = Decay::none;
  int warmup = 0;
  double clip = 1;  ///< of the gradient's norm; 0: no limit
  double weight_decay = 0.1;
  std::uint64_t seed = 1;
  double loss_scale = 65536;  ///< the initial one, for fp16
};
struct EvaluationOptions {
  int every = 0;    ///< steps between validations; 0: only at the end
  int batches = 0;  ///< of a validation; 0: the whole held-out part
};
struct SampleOptions {
  int bytes = 0;  ///< to write after training
};

struct Options {
  DataOptions data;
  std::string out = "out";
  Communication comm = Communication::threads;
  MeshOptions mesh;
  ModelOptions model;
  StrategyOptions strategy;
  TrainingOptions train;
  EvaluationOptions eval;
  SampleOptions sample;
  bool plan = false;

  triax::Extents extents() const { return {.dp = mesh.dp, .pp = mesh.pp}; }
  /// The sequences of a step on one rank.
  int local_batch() const { return train.batch / mesh.dp; }
  /// What the learning rate falls to.
  double lr_min() const { return train.lr_min.value_or(train.lr / 10); }
};

/// Reads `key=value` arguments. Throws Refusal for an unknown key, a bad value, or without data.path.
Options read_options(const std::vector<std::string_view>& arguments);

/// A line for every key.
std::string options_help();

/// Makes the mesh definite for a world of `ranks` ranks, or for as many as the mesh needs, and checks that
/// the options fit together. Throws Refusal.
void settle(Options& options, std::optional<int> ranks);

}  // namespace train_gpt
