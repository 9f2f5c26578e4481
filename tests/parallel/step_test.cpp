// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A model's members, called in all the orders in which a program may call them.

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/models/probe.hpp"
#include "support/models/training.hpp"
#include "support/numbers.hpp"
#include "support/reference_gpt.hpp"

using namespace triax;
using namespace triax::test;

namespace {

/// Calls f(model) on each rank of the GPT's mesh.
void on_gpt(const GptOptions& options, const std::function<void(ModelRank&)>& f) {
  run_threads(options.mesh.product(), [&](ThreadCommunicator world) {
    const auto model = make_gpt(ThreadWorldRank(std::move(world)), options);
    f(*model);
  });
}

GptOptions hybrid(Stage stage = Stage::none, int micro_batches = 2) {
  GptOptions options;
  options.mesh = {.dp = 2, .pp = 2};
  options.policies.stage = stage;
  options.policies.micro_batches = micro_batches;
  return options;
}

/// The part of a model's rank of a batch with this number of sequences for each of them.
Batch<Host> part_of(const TextBatch& text, ModelRank& model) {
  return text.part(model.coordinates().dp, model.extents().dp);
}

/// The reference with the weights of the model.
ReferenceGpt<double> reference_of(ModelRank& model, const GptSizes& sizes) {
  ReferenceGpt<double> reference(
      {static_cast<std::size_t>(sizes.vocabulary), static_cast<std::size_t>(sizes.width),
       static_cast<std::size_t>(sizes.heads), static_cast<std::size_t>(sizes.context),
       static_cast<std::size_t>(sizes.blocks), sizes.tied});
  for (auto& [path, weights] : reference.weights()) {
    const std::vector<float> values = model.parameter(path);
    weights.value.assign(values.begin(), values.end());
  }
  return reference;
}

ReferenceBatch reference_batch(const TextBatch& text, std::size_t sequences) {
  return {sequences, 8, text.inputs(), text.targets(), text.weights()};
}

}  // namespace

TEST_CASE("evaluate gives every rank the reference's loss, and changes nothing") {
  for (const Stage stage : {Stage::none, Stage::parameters}) {
    GptOptions options = hybrid(stage, 3);
    options.sizes.dropout = 0.5;               // of which evaluation knows nothing
    std::vector<std::vector<double>> sums(4);  // by rank
    on_gpt(options, [&](ModelRank& model) {
      const Coordinates at = model.coordinates();
      model.step(part_of(TextBatch(0, 8, 8), model));
      ReferenceGpt<double> reference = reference_of(model, options.sizes);
      // 9 sequences a rank do not fit a step of 4, but are evaluated piece by piece.
      for (const std::size_t sequences : {2U, 8U, 18U}) {
        const TextBatch text = TextBatch(1, static_cast<std::int64_t>(sequences), 8).with_ignored_tokens();
        const LossSum loss = model.evaluate(part_of(text, model));
        const ReferenceLoss expected = reference.forward(reference_batch(text, sequences));
        CHECK(loss.weight == expected.weight);
        CHECK(std::abs(loss.sum - expected.sum) <= 1e-5 * expected.sum);
        sums[static_cast<std::size_t>(2 * at.pp + at.dp)].push_back(loss.sum);
      }
      // The next step is the one that would have come without.
      const StepResult result = model.step(part_of(TextBatch(2, 8, 8), model));
      CHECK(result.applied_steps() == 2);
      CHECK(result.tokens() == 64);
    });
    for (const std::vector<double>& of_rank : sums) CHECK(of_rank == sums[0]);
  }
}

TEST_CASE("evaluation between steps leaves the trajectory as it is") {
  std::vector<double> losses[2];
  for (const bool evaluates : {false, true}) {
    GptOptions options = hybrid(Stage::parameters);
    options.sizes.dropout = 0.1;
    on_gpt(options, [&](ModelRank& model) {
      for (int step = 0; step < 4; ++step) {
        const TextBatch text(step, 8, 8);
        const double loss = model.step(part_of(text, model)).loss();
        if (evaluates) model.evaluate(part_of(text, model));
        if (model.coordinates() == Coordinates{}) losses[evaluates ? 1 : 0].push_back(loss);
      }
    });
  }
  CHECK(losses[0] == losses[1]);
}

TEST_CASE("forward gives the last stage the reference's logits, and gather_output all stages") {
  for (const Compute compute : {Compute::fp32, Compute::bf16}) {
    GptOptions options = hybrid(Stage::parameters, 3);
    options.compute = compute;
    on_gpt(options, [&](ModelRank& model) {
      const TextBatch text(0, 8, 8);
      const Batch<Host> batch = Batch<Host>(part_of(text, model).inputs());  // without targets
      const std::vector<float> there = model.forward(batch);
      const std::vector<float> everywhere = model.forward_everywhere(batch);
      const bool last = model.coordinates().pp == 1;
      CHECK(there.size() == (last ? std::size_t{4 * 8 * 32} : 0));
      if (last) CHECK(there == everywhere);
      ReferenceGpt<double> reference = reference_of(model, options.sizes);
      reference.forward(reference_batch(text, 8));
      const auto first = reference.logits().begin() + model.coordinates().dp * 4 * 8 * 32;
      const std::vector<double> expected(first, first + 4 * 8 * 32);
      CHECK(worst_error(to_doubles(everywhere), expected, 1) <= (compute == Compute::fp32 ? 1e-5 : 2e-2));
    });
  }
}

TEST_CASE("shorter and smaller batches fit; larger ones are refused with advice") {
  on_gpt(hybrid(Stage::gradients, 3), [](ModelRank& model) {
    model.reserve({5, 8});
    CHECK_THROWS_AS(model.reserve({5, 8}), ConfigError);
    for (const std::int64_t sequences : {5, 1, 4, 2}) {
      for (const std::int64_t tokens : {8, 3}) {
        const TextBatch text(0, 2 * sequences, tokens);
        ReferenceGpt<double> reference = reference_of(model, {});
        ReferenceBatch batch = reference_batch(text, static_cast<std::size_t>(2 * sequences));
        batch.tokens = static_cast<std::size_t>(tokens);
        const double expected = reference.loss_and_gradients(batch);
        const StepResult result = model.step(part_of(text, model));
        CHECK(std::abs(result.loss() - expected) <= 1e-5 * expected);
      }
    }
    const std::vector<float> before = model.parameter("1.0.1.1.up");
    const auto refuses = [&](std::int64_t sequences, std::int64_t tokens, const char* sentence) {
      const TextBatch text(0, 2 * sequences, tokens);
      CHECK_THROWS_WITH_AS(model.step(part_of(text, model)), sentence, ShapeError);
    };
    refuses(
        6, 8,
        "a batch of 6 sequences of 8 tokens does not fit the memory reserved for 5 sequences of 8 tokens; "
        "call reserve({sequences, tokens}) for the largest batch before the first step");
    refuses(
        5, 9,
        "a batch of 5 sequences of 9 tokens does not fit the memory reserved for 5 sequences of 8 tokens; "
        "call reserve({sequences, tokens}) for the largest batch before the first step");
    CHECK(model.parameter("1.0.1.1.up") == before);
    CHECK(model.step(part_of(TextBatch(1, 10, 8), model)).applied());
  });
}

// Four micro-batches need more slots than the two that were reserved for two sequences.
TEST_CASE("a batch of more micro-batches than were reserved is refused") {
  GptOptions options;
  options.mesh = {.pp = 4};
  options.policies.micro_batches = 4;
  on_gpt(options, [](ModelRank& model) {
    model.reserve({2, 8});
    CHECK_THROWS_AS(model.step(part_of(TextBatch(0, 4, 8), model)), ShapeError);
    CHECK(model.step(part_of(TextBatch(0, 2, 8), model)).applied());
  });
}

TEST_CASE("update needs a new gradient; forward_backward may be repeated") {
  on_gpt(hybrid(Stage::parameters), [](ModelRank& model) {
    CHECK_THROWS_WITH_AS(model.update(), "update needs the gradient of a new forward_backward", Error);
    CHECK_THROWS_AS(model.measured(), Error);
    const TextBatch first(0, 8, 8), second(1, 8, 8);
    model.forward_backward(part_of(first, model));
    const std::vector<float> gradient = model.gradient("0.0.token");
    model.forward_backward(part_of(second, model));
    CHECK(model.gradient("0.0.token") != gradient);
    model.forward_backward(part_of(first, model));
    CHECK(model.gradient("0.0.token") == gradient);  // replaced, not added
    CHECK(model.step_count("0.0.token") == 0);
    model.update();
    CHECK(model.step_count("0.0.token") == 1);
    CHECK_THROWS_AS(model.update(), Error);
  });
}

TEST_CASE("a StepResult can be read until the next step begins") {
  on_gpt(hybrid(), [](ModelRank& model) {
    const TextBatch text(0, 8, 8);
    const StepResult first = model.step(part_of(text, model));
    CHECK(first.loss() > 0);
    model.evaluate(part_of(text, model));
    CHECK(first.loss() > 0);
    CHECK_THROWS_AS(first.added_loss("penalty"), Error);
    const StepResult second = model.forward_backward(part_of(text, model));
    CHECK_THROWS_WITH_AS(
        first.loss(),
        "this StepResult belongs to step 1, but step 2 has begun; read a result before the next step", Error);
    CHECK_THROWS_AS(first.applied(), Error);
    CHECK(second.loss() > 0);
    model.update();
    CHECK(second.applied_steps() == 2);
  });
}

TEST_CASE("a step of ignored tokens alone has no loss and no gradient") {
  for (const Compute compute : {Compute::fp32, Compute::fp16}) {
    GptOptions options = hybrid(Stage::gradients);
    options.compute = compute;
    on_gpt(options, [](ModelRank& model) {
      const std::vector<float> weights(64, 0.0F);
      const TextBatch text(0, 8, 8);
      const Batch<Host> part = part_of(text, model);
      const Batch<Host> ignored(part.inputs(), part.targets(), {weights.data(), {4, 8}});
      const StepResult result = model.forward_backward(ignored);
      CHECK(result.loss() == 0);
      CHECK(result.tokens() == 0);
      CHECK(result.grad_norm() == 0);
      model.update();
      CHECK(result.applied());
    });
  }
}

TEST_CASE("parameters can be written and read by name, whatever the layout") {
  for (const Stage stage : {Stage::none, Stage::optimizer, Stage::parameters}) {
    for (const Compute compute : {Compute::fp32, Compute::bf16}) {
      GptOptions options = hybrid(stage);
      options.compute = compute;
      on_gpt(options, [](ModelRank& model) {
        CHECK_THROWS_AS(model.parameter("0.0.token"), Error);  // nothing is reserved
        model.reserve({4, 8});
        std::vector<float> values(std::size_t{32 * 16});
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(i) / 3000;
        model.set_parameter("3.0.token", values);
        CHECK(model.parameter("3.0.token") == values);  // as fp32 masters
        CHECK(model.parameter("0.0.token") == values);  // tied
        CHECK_THROWS_WITH_AS(model.parameter("0.0.tokens"),
                             "the model has no parameter called '0.0.tokens'; parameter_paths() lists them",
                             Error);
        CHECK_THROWS_AS(model.set_parameter("3.0.token", {1, 2, 3}), ShapeError);
        CHECK(model.parameter_paths().size() == 2 + 4 * 12 + 2 + 1);
      });
    }
  }
}

// ---- Hooks, added losses and errors, on the probe ----

namespace {

struct Recorder final : HookTarget {
  std::vector<std::string> events;

  void before_unit(int unit, Phase phase) override { note("before ", unit, phase); }
  void after_unit(int unit, Phase phase) override { note("after ", unit, phase); }
  void gradient_ready(const PlacedParameter& parameter) override {
    events.push_back("ready " + parameter.path);
  }
  void before_update(const PlacedParameter& parameter, Tensor<float, Host> gradient) override {
    events.push_back("update " + parameter.path);
    for (float& g : gradient.span()) g = 0;
  }

 private:
  void note(const char* when, int unit, Phase phase) {
    events.push_back((phase == Phase::forward ? "forward " : "backward ") + std::string(when) +
                     std::to_string(unit));
  }
};

StepResult probe_step(ModelRank& model, int number) {
  const int ranks = model.extents().dp;
  return model.step(ValueBatch(number, 4 * ranks, 3, 6).part(model.coordinates().dp, ranks));
}

}  // namespace

TEST_CASE("hooks are called in the order of the step, and may change the gradient") {
  Recorder recorder;
  run_threads(1, [&](ThreadCommunicator world) {
    ProbeOptions options;
    options.optimizer = Sgd{.lr = 0.1};
    options.policies.micro_batches = 2;
    options.hook = &recorder;
    const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
    model->reserve({4, 3, 6, 6});
    const std::vector<float> before = model->parameter("1.0.first");
    probe_step(*model, 0);
    CHECK(model->parameter("1.0.first") == before);  // the hook wiped the gradient
  });
  std::vector<std::string> expected;
  for (const bool last : {false, true}) {
    for (const char* unit : {"0", "1", "2", "3", "4", "5"})
      for (const char* when : {"before ", "after "})
        expected.push_back("forward " + std::string(when) + unit);
    for (const char* unit : {"5", "4", "3", "2", "1", "0"}) {
      for (const char* when : {"before ", "after "})
        expected.push_back("backward " + std::string(when) + unit);
      const bool trained = *unit != '0' && *unit != '3';
      for (const char* name : {".0.first", ".0.second"})
        if (last && trained) expected.push_back("ready " + std::string(unit) + name);
    }
  }
  for (const char* unit : {"1", "2", "4", "5"})
    for (const char* name : {".0.first", ".0.second"})
      expected.push_back("update " + std::string(unit) + name);
  CHECK(recorder.events == expected);
}

TEST_CASE("a layer's added loss is reported by name and trained with, alike in every layout") {
  const auto run = [](const Extents& mesh, Stage stage, float penalty) {
    std::vector<double> losses;
    ProbeOptions options;
    options.units[2].penalty = penalty;
    options.mesh = mesh;
    options.policies.stage = stage;
    options.policies.micro_batches = 2;
    run_threads(mesh.product(), [&](ThreadCommunicator world) {
      const bool first = world.rank() == 0;
      const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
      for (int step = 0; step < 10; ++step) {
        const StepResult result =
            model->step(ValueBatch(step, 4, 3, 6).part(model->coordinates().dp, model->extents().dp));
        CHECK_THROWS_AS(result.added_loss("another"), Error);
        if (!first) continue;
        losses.push_back(result.loss());
        losses.push_back(result.added_loss("penalty"));
      }
    });
    return losses;
  };
  const std::vector<double> one_rank = run({}, Stage::none, 0.5F);
  for (const Extents& mesh : {Extents{.dp = 2}, Extents{.pp = 3}, Extents{.dp = 2, .pp = 2}})
    for (const Stage stage : {Stage::none, Stage::parameters})
      CHECK(worst_relative(run(mesh, stage, 0.5F), one_rank) <= 1e-5);
  const std::vector<double> weak = run({}, Stage::none, 1e-6F);
  CHECK(weak[1] == one_rank[1]);               // reported without the factor
  CHECK(one_rank.back() < 0.9 * weak.back());  // which trains
}

TEST_CASE("an added loss has the gradient of its objective") {
  run_threads(1, [](ThreadCommunicator world) {
    ProbeOptions options;
    options.units[2].penalty = 0.5F;
    const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
    const ValueBatch values(0, 4, 3, 6);
    const auto objective = [&] {
      const StepResult result = model->forward_backward(values.part(0, 1));
      return result.loss() + 0.5 * result.added_loss("penalty");
    };
    objective();
    const std::string path = "1.0.second";
    const std::vector<float> gradient = model->gradient(path);
    const std::vector<float> weights = model->parameter(path);
    for (const std::size_t i : {0U, 7U, 35U}) {
      const auto at = [&](double change) {
        std::vector<float> moved = weights;
        moved[i] = static_cast<float>(static_cast<double>(weights[i]) + change);
        model->set_parameter(path, moved);
        return objective();
      };
      const double slope = (at(0x1p-6) - at(-0x1p-6)) / 0x1p-5;
      CHECK(static_cast<double>(gradient[i]) == doctest::Approx(slope).epsilon(1e-3));
    }
  });
}

TEST_CASE("a layer that throws on one rank ends the step on all, with its error") {
  for (const Misdeed misdeed : {Misdeed::throws_in_forward, Misdeed::throws_in_backward}) {
    for (const Extents& mesh : {Extents{.dp = 3}, Extents{.pp = 3}, Extents{.dp = 2, .pp = 2}}) {
      for (const Stage stage : {Stage::none, Stage::parameters}) {
        const auto train = [&] {
          run_threads(mesh.product(), [&](ThreadCommunicator world) {
            ProbeOptions options;
            options.mesh = mesh;
            options.policies.stage = stage;
            options.policies.micro_batches = 2;
            // In every unit, so that the rank meets one whatever its stage.
            if (world.rank() == 1)
              for (ProbeSpec& unit : options.units) unit.misdeed = misdeed;
            const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
            for (int step = 0; step < 3; ++step) probe_step(*model, step);
          });
        };
        CHECK_THROWS_WITH(train(), misdeed == Misdeed::throws_in_forward ? "a probe fails in forward"
                                                                         : "a probe fails in backward");
      }
    }
  }
}

TEST_CASE("a gradient that only some replicas ask for counts as zero on the others, or is an error") {
  const auto train = [](Unused unused, int rank_without) {
    std::vector<float> result;
    std::int64_t updates = -1;
    run_threads(4, [&](ThreadCommunicator world) {
      const int rank = world.rank();
      ProbeOptions options;
      options.mesh = {.dp = 2, .pp = 2};
      options.policies.gradients.unused = unused;
      if (rank_without < 0 || rank == rank_without) options.units[1].misdeed = Misdeed::no_gradient;
      const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
      probe_step(*model, 0);
      std::vector<float> values = model->parameter("1.0.second");
      const std::int64_t count = model->step_count("1.0.second");
      if (rank != 0) return;
      result = std::move(values);
      updates = count;
    });
    return std::pair(result, updates);
  };
  const auto [initial, none] = train(Unused::zero, -1);
  CHECK(none == 0);
  const auto [half, updates] = train(Unused::zero, 1);
  CHECK(updates == 1);
  CHECK(half != initial);
  CHECK_NOTHROW(train(Unused::error, -1));  // nobody asks
  CHECK_NOTHROW(train(Unused::error, 99));  // all do
  CHECK_THROWS_WITH_AS(train(Unused::error, 1),
                       "some parameters have a gradient on a part of their replicas only; there is none for "
                       "1.0.second on rank 1; use Unused::zero if that is meant",
                       MismatchError);
}
