// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A GPT's training against plain loops that share nothing with the library.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/models/training.hpp"
#include "support/numbers.hpp"
#include "support/reference_gpt.hpp"

using namespace triax;
using namespace triax::test;

namespace {

using Reference = ReferenceGpt<double>;

constexpr int steps = 20;
constexpr std::int64_t sequences = 8;
constexpr float limit = 0.7F;

ReferenceSizes reference_sizes(const GptSizes& sizes) {
  const auto size = [](int value) { return static_cast<std::size_t>(value); };
  return {size(sizes.vocabulary), size(sizes.width),  size(sizes.heads),
          size(sizes.context),    size(sizes.blocks), sizes.tied};
}

TextBatch batch_of(int step, const GptSizes& sizes) {
  return TextBatch(step, sequences, sizes.context, sizes.vocabulary).with_ignored_tokens();
}
ReferenceBatch reference_batch(const TextBatch& text, const GptSizes& sizes) {
  return {static_cast<std::size_t>(sequences), static_cast<std::size_t>(sizes.context), text.inputs(),
          text.targets(), text.weights()};
}

/// The largest |a - b|; infinite for different sizes.
double worst_difference(const std::vector<float>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    worst = std::fmax(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  return worst;
}

/// Absolute tolerances of weights after the first and after the last step.
struct Tolerances {
  double first;
  double last;
};

/// Trains the model and, on rank 0, the reference from the same weights, and compares all along. `update` is
/// the reference's.
void follow_reference(const GptOptions& options, const std::function<void(Reference&)>& update,
                      const Tolerances& tolerances) {
  run_threads(options.mesh.product(), [&](ThreadCommunicator world) {
    const bool checks = world.rank() == 0;
    const auto model = make_gpt(ThreadWorldRank(std::move(world)), options);
    const Coordinates at = model->coordinates();
    model->reserve({sequences / options.mesh.dp, options.sizes.context});

    Reference reference(reference_sizes(options.sizes));
    for (auto& [path, weights] : reference.weights()) {
      const std::vector<float> values = model->parameter(path);
      REQUIRE(values.size() == weights.value.size());
      weights.value.assign(values.begin(), values.end());
    }

    for (int step = 0; step < steps; ++step) {
      const TextBatch text = batch_of(step, options.sizes);
      const StepResult result = model->forward_backward(text.part(at.dp, options.mesh.dp));
      if (checks) {
        const double expected = reference.loss_and_gradients(reference_batch(text, options.sizes));
        CHECK(std::abs(result.loss() - expected) <= 1e-5 * expected);
        CHECK(std::abs(result.grad_norm() - reference.norm()) <= 1e-4 * reference.norm());
      }
      if (step == 0) {
        for (const auto& [path, weights] : reference.weights()) {
          CAPTURE(path);
          const std::vector<float> gradient = model->gradient(path);
          if (checks) CHECK(worst_error(to_doubles(gradient), weights.gradient, 1e-3) <= 1e-4);
        }
      }
      model->update();
      if (checks) {
        reference.clip_norm(static_cast<double>(limit));
        update(reference);
      }
      if (step != 0 && step + 1 != steps) continue;
      for (const auto& [path, weights] : reference.weights()) {
        CAPTURE(path);
        const std::vector<float> values = model->parameter(path);
        if (checks)
          CHECK(worst_difference(values, weights.value) <= (step == 0 ? tolerances.first : tolerances.last));
      }
    }
    if (options.sizes.tied) CHECK(model->parameter("3.0.token") == model->parameter("0.0.token"));
  });
}

GptOptions options_with(const AnyOptimizer& optimizer) {
  GptOptions options;
  options.optimizer = optimizer;
  options.policies.clip = By::norm;
  options.policies.clip_limit = limit;
  return options;
}

}  // namespace

TEST_CASE("SGD follows the reference: losses, gradients, weights") {
  GptOptions options = options_with(Sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01});
  const auto update = [](Reference& reference) { reference.sgd(0.1, 0.9, 0.01); };
  const Tolerances tolerances{1e-7, 2e-5};
  follow_reference(options, update, tolerances);
  options.mesh = {.dp = 2, .pp = 2};
  options.policies.stage = Stage::parameters;
  options.policies.micro_batches = 3;
  follow_reference(options, update, tolerances);
}

TEST_CASE("AdamW follows the reference, with a tied head and without") {
  GptOptions options = options_with(AdamW{.lr = 1e-3, .weight_decay = 0.1});
  const auto update = [](Reference& reference) { reference.adamw(1e-3, {.decay = 0.1}); };
  // The first update is sign-like, and the exact gradient of a key's bias is 0.
  const Tolerances tolerances{1e-3 / 100, 1e-3 / 5};
  follow_reference(options, update, tolerances);
  options.sizes.tied = false;
  options.mesh = {.dp = 1, .pp = 2};
  options.policies.micro_batches = 4;
  follow_reference(options, update, tolerances);
}
