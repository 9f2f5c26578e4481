// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <limits>

#include "keys.hpp"
#include "refusal.hpp"

namespace train_gpt {

namespace {

constexpr int most_ranks = 1 << 16;
constexpr int most = 1 << 20;  // of sizes: products of three are far from overflow
constexpr int most_steps = 1'000'000'000;
constexpr double largest = 1e30;

/// Binds the keys to the members of `o`, which hold the defaults.
Keys keys_of(Options& o) {
  using triax::Accumulate;
  using triax::Stage;
  Keys keys;
  keys.text("data.path", o.data.path, "the text; its last tenth is held out for validation");
  keys.text("out", o.out, "the folder for metrics.jsonl and summary.json");
  keys.choice("comm", o.comm, {{"threads", Communication::threads}, {"mpi", Communication::mpi}},
              "what ranks are");
  keys.whole_or_auto("mesh.dp", o.mesh.dp, 1, most_ranks, triax::automatic, "data-parallel ranks");
  keys.whole_or_auto("mesh.pp", o.mesh.pp, 1, most_ranks, triax::automatic, "pipeline stages");

  keys.whole("model.layers", o.model.layers, 1, most, "transformer blocks");
  keys.whole("model.heads", o.model.heads, 1, most, "attention heads of a block");
  keys.whole("model.width", o.model.width, 1, most, "features of a token");
  keys.whole("model.context", o.model.context, 1, most, "tokens of a sequence");
  keys.real("model.dropout", o.model.dropout, 0, 0.99, "probability at the end of each residual branch");

  keys.choice("strategy.stage", o.strategy.stage,
              {{"none", Stage::none},
               {"optimizer", Stage::optimizer},
               {"gradients", Stage::gradients},
               {"parameters", Stage::parameters}},
              "what is sharded over dp (ZeRO)");
  keys.choice("strategy.schedule", o.strategy.schedule,
              {{"gpipe", ScheduleName::gpipe}, {"1f1b", ScheduleName::one_f_one_b}},
              "order of micro-batches over pp");
  keys.choice("strategy.precision", o.strategy.precision,
              {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}, {"fp16", Precision::fp16}},
              "type in which layers compute");
  keys.whole("strategy.bucket_bytes", o.strategy.bucket_bytes, std::int64_t{1}, std::int64_t{1} << 40,
             "gradients that are reduced together");
  keys.choice("strategy.accumulate", o.strategy.accumulate,
              {{"local", Accumulate::local}, {"sharded", Accumulate::sharded}},
              "where micro-batches add up (by default sharded from stage=gradients on)");

  keys.whole("train.steps", o.train.steps, 1, most_steps, "training steps");
  keys.whole("train.batch", o.train.batch, 1, most, "sequences a step, over all of dp");
  keys.whole("train.microbatches", o.train.microbatches, 1, most,
             "parts into which each rank cuts its batch");
  keys.choice("train.optimizer", o.train.optimizer,
              {{"adamw", OptimizerName::adamw}, {"sgd", OptimizerName::sgd}}, "update rule");
  keys.real("train.lr", o.train.lr, 0, largest, "learning rate");
  keys.real("train.lr_min", o.train.lr_min, 0, largest, "where decay ends (by default a tenth of train.lr)");
  keys.choice("train.decay", o.train.decay,
              {{"none", Decay::none}, {"cosine", Decay::cosine}, {"linear", Decay::linear}},
              "how the learning rate falls until train.steps");
  keys.whole("train.warmup", o.train.warmup, 0, most_steps, "steps in which the learning rate rises");
  keys.real("train.clip", o.train.clip, 0, largest, "limit of the gradient's norm, 0 for none");
  keys.real("train.weight_decay", o.train.weight_decay, 0, largest, "of matrices and embeddings");
  keys.whole("train.seed", o.train.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
             "of weights, data and dropout");
  keys.real("train.loss_scale", o.train.loss_scale, 1, largest, "initial loss scale of fp16");

  keys.whole("eval.every", o.eval.every, 0, most_steps, "steps between validations, 0 for one at the end");
  keys.whole("eval.batches", o.eval.batches, 0, most_steps,
             "batches of a validation, 0 for all held-out bytes");
  keys.whole("sample.bytes", o.sample.bytes, 0, most, "bytes that the model writes after training");
  keys.choice("plan", o.plan, {{"false", false}, {"true", true}}, "print what a run would take, and exit");
  return keys;
}

std::string setting(const char* key, int value) { return std::string(key) + "=" + std::to_string(value); }

void require(bool fact, const std::string& sentence) {
  if (!fact) throw Refusal(sentence);
}

}  // namespace

Options read_options(const std::vector<std::string_view>& arguments) {
  Options options;
  keys_of(options).read(arguments);
  require(!options.data.path.empty(), "data.path is missing; name a text file with data.path=FILE");
  return options;
}

std::string options_help() {
  Options defaults;
  return keys_of(defaults).help();
}

void settle(Options& o, std::optional<int> ranks) {
  refuse_what_cannot_work([&] {
    triax::Extents extents = o.extents();
    if (ranks)
      extents = triax::resolve(extents, *ranks);
    else
      require(!has(extents, triax::automatic),
              "an extent of the mesh can be auto only with comm=mpi, where mpirun or srun says how many "
              "ranks there are");
    o.mesh = {extents.dp, extents.pp};
  });

  const int units = o.model.layers + 3;  // the embedding, the blocks, the final norm and the head
  require(o.mesh.pp <= units, setting("mesh.pp", o.mesh.pp) + " is too many: a model with " +
                                  setting("model.layers", o.model.layers) + " can be cut into " +
                                  std::to_string(units) + " stages at most");
  require(o.model.width % o.model.heads == 0, setting("model.heads", o.model.heads) + " does not divide " +
                                                  setting("model.width", o.model.width));
  require(o.train.batch % o.mesh.dp == 0,
          setting("train.batch", o.train.batch) + " is not a multiple of " + setting("mesh.dp", o.mesh.dp) +
              "; every data-parallel rank takes the same number of sequences");
  require(o.train.microbatches <= o.local_batch(), setting("train.microbatches", o.train.microbatches) +
                                                       " needs as many sequences, but each rank has " +
                                                       std::to_string(o.local_batch()) + " of " +
                                                       setting("train.batch", o.train.batch));
  require(o.strategy.accumulate != triax::Accumulate::sharded || o.strategy.stage >= triax::Stage::gradients,
          "strategy.accumulate=sharded needs strategy.stage=gradients or parameters, which own a slice of "
          "the gradient");
  require(o.lr_min() <= o.train.lr, "train.lr_min is larger than train.lr");
}

}  // namespace train_gpt
