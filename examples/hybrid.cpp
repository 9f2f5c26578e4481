// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Four copies of a model in two pipeline stages each, with ZeRO-2 and bf16, on eight threads. Before anything
// is allocated the plan says what every rank will hold and send; afterwards the ranks say what they did.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <triax/triax.hpp>

using namespace triax;

struct Net {
  std::tuple<Embedding,
             Repeat<Block<Residual<Block<LayerNorm, CausalSelfAttention>>, Residual<Block<LayerNorm, Mlp>>>>,
             LayerNorm, VocabularyHead>
      layers;
  CrossEntropy loss;
};

Net make_net(int vocabulary, int width, int context, int depth) {
  const LayerNorm norm{width};
  return {{Embedding{vocabulary, width, context, "token"},
           Repeat{block(Residual{block(norm, CausalSelfAttention{width, 4})},
                        Residual{block(norm, Mlp{width, 4 * width})}),
                  depth},
           norm, VocabularyHead{vocabulary, width, "token"}},
          {}};
}

// What types say is checked by the compiler: without one of the policies that these extents need, this
// program would be one sentence that says which.
using Hybrid = Strategy<DataParallel<>, Sharded<Stage::gradients>, PipelineStage<OneFOneB>, MicroBatches<4>,
                        MixedPrecision<bf16>, Clip<By::norm>>;
constexpr Extents mesh_extents{.dp = 4, .pp = 2};

constexpr int vocabulary = 32, context = 32, sequences = 8, steps = 100;

void print_plan(int stage, const Plan& plan) {
  const auto kib = [](auto bytes) { return static_cast<double>(bytes) / 1024; };
  std::printf("stage %d: units %d to %d\n", stage, plan.stage_bounds[static_cast<std::size_t>(stage)],
              plan.stage_bounds[static_cast<std::size_t>(stage) + 1] - 1);
  std::printf(
      "  KiB a rank: %.1f parameters, %.1f gradients, %.1f optimizer, %.1f buffers, %.1f activations\n",
      kib(plan.bytes.parameters), kib(plan.bytes.gradients), kib(plan.bytes.optimizer),
      kib(plan.bytes.buffers), kib(plan.bytes.activations));
  std::printf("  KiB a step: %.1f over dp, %.1f over pp; %.0f %% of the time idle\n",
              kib(plan.traffic_of("dp").bytes), kib(plan.traffic_of("pp").bytes), 100 * plan.bubble);
}

int main() {
  const Net net = make_net(vocabulary, 64, context, 4);
  const AdamW adamw{.lr = LearningRate(3e-3).warm_up(10).cosine(steps)};
  const BatchShape shape{.sequences = sequences, .tokens = context};
  for (int stage = 0; stage < mesh_extents.pp; ++stage)
    print_plan(stage, plan_rank<Host>(net, Hybrid{}, mesh_extents, {.pp = stage, .world = 0}, adamw, shape));

  bool learned = false;
  std::atomic<bool> as_planned = true;
  run_threads(8, [&](ThreadCommunicator world) {
    Mesh mesh(Traced{world}, extents<mesh_extents>);
    Parallel model(net, Hybrid{}, mesh, adamw);
    model.reserve(shape);

    std::vector<std::int32_t> inputs(sequences * context), targets(inputs.size());
    const Batch<Host> batch({inputs.data(), {sequences, context}}, {targets.data(), {sequences, context}});
    for (int step = 1; step <= steps; ++step) {
      for (int i = 0; i < sequences; ++i) {  // each counts from some number in ones, twos or threes
        const int sample = (step * mesh.extent(Axis::dp) + mesh.coordinate(Axis::dp)) * sequences + i;
        const auto start = static_cast<int>(random_below(vocabulary, 1, static_cast<std::uint64_t>(sample)));
        for (int t = 0; t < context; ++t) {
          inputs[static_cast<std::size_t>(i * context + t)] = (start + t * (1 + start % 3)) % vocabulary;
          targets[static_cast<std::size_t>(i * context + t)] =
              (start + (t + 1) * (1 + start % 3)) % vocabulary;
        }
      }
      mesh.reset_traffic();
      const StepResult result = model.step(batch);
      if (world.rank() != 0) continue;
      learned = result.loss() < 0.4;
      if (step % 20 == 0)
        std::printf("step %3d  loss %.4f  learning rate %.5f\n", step, result.loss(), result.learning_rate());
    }

    const Plan planned = plan(net, Hybrid{}, mesh, adamw, shape);
    if (!(model.measured().bytes == planned.bytes)) as_planned = false;
    for (const GroupTraffic& group : mesh.traffic())
      if (!(group.ledger.total() == planned.traffic_of(group.name))) as_planned = false;
  });
  std::printf("measured on every rank: %s\n", as_planned ? "what was planned" : "NOT what was planned");
  return learned && as_planned ? 0 : 1;
}
