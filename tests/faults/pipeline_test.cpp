// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Field faults of pipelines: O-31, O-32, O-33. (O-30 is about communicators: tests/conformance.)

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include <triax/schedule/gpipe.hpp>

#include "faults/trainer.hpp"

namespace triax::test {
namespace {

const std::array<AnySchedule, 2> schedules{OneFOneB{}, GPipe{}};

/// A model that computes w_0 w_1 ... x, with one weight a Scale; the batch's only column is x.
ScriptedNet product_net(int scales) {
  Parameter one = filled("one", {1}, 1);
  one.frozen = true;
  return scripted_net({one}, {}, scales);
}
std::string weight(int i) { return "3." + std::to_string(i) + ".w"; }

TEST_CASE("O-31 fewer micro-batches than stages") {
  for (const AnySchedule& schedule : schedules) {
    on_ranks(4, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(
          world, {.net = product_net(4), .extents = {.pp = 4}, .micro_batches = 2, .schedule = schedule});
      const auto expect = [&](const Rows& rows, double loss, const std::array<float, 4>& slopes) {
        for (int i = 0; i < 4; ++i) model->set_parameter(weight(i), {static_cast<float>(i + 1)});
        CHECK(model->forward_backward(rows).loss == loss);
        for (int i = 0; i < 4; ++i)
          CHECK(model->gradient(weight(i)) == std::vector{slopes[static_cast<std::size_t>(i)]});
        CHECK(model->evaluate(rows).sum == loss * static_cast<double>(rows.batch().sequences()));
      };
      model->reserve({.sequences = 2, .tokens = 1, .input_features = 1});
      expect(Rows::of({{1}, {3}}), 48, {48, 24, 16, 12});
      expect(Rows::of({{1}}), 24, {24, 12, 8, 6});  // one sequence: one micro-batch
      expect(Rows::of({{1}, {3}}), 48, {48, 24, 16, 12});
    });
  }
}

TEST_CASE("O-31 one micro-batch in a pipeline of five stages, with data parallelism") {
  for (const Stage stage : every_stage) {
    on_ranks(10, [&](ThreadCommunicator world) {
      const auto model =
          make_trainer<float>(world, {.net = product_net(5), .extents = {.dp = 2, .pp = 5}, .stage = stage});
      const float x = world.rank() % 2 == 0 ? 1 : 3;
      CHECK(model->step(Rows::of({{x}})).loss == 2);
      for (int i = 0; i < 5; ++i) CHECK(model->gradient(weight(i)) == std::vector{2.0F});
    });
  }
}

TEST_CASE("O-32 no layer is lost when they do not divide by the stages") {
  on_ranks(4, [](ThreadCommunicator world) {
    const auto model = make_trainer<float>(world, {.net = product_net(10), .extents = {.pp = 4}});
    const std::vector<int> bounds =
        model->planned({.sequences = 1, .tokens = 1, .input_features = 1}).stage_bounds;
    REQUIRE(bounds.size() == 5);
    CHECK(bounds.back() == 3 + 10);  // three units come before the Scales
    std::array<int, 4> scales{};
    for (std::size_t stage = 0; stage < 4; ++stage)
      scales[stage] = bounds[stage + 1] - std::max(bounds[stage], 3);
    CHECK(std::accumulate(scales.begin(), scales.end(), 0) == 10);
    CHECK(*std::max_element(scales.begin(), scales.end()) - *std::min_element(scales.begin(), scales.end()) ==
          1);
    int weights = 0;
    for (const std::string& path : model->parameter_paths()) weights += path.ends_with(".w") ? 1 : 0;
    CHECK(weights == 10);
    model->reserve({.sequences = 1, .tokens = 1, .input_features = 1});
    for (int i = 0; i < 10; ++i) model->set_parameter(weight(i), {2});
    CHECK(model->step(Rows::of({{1}})).loss == 1024);
    for (int i = 0; i < 10; ++i) CHECK(model->gradient(weight(i)) == std::vector{512.0F});
  });
}

TEST_CASE("O-32 as many layers as stages, and one more") {
  for (const int scales : {3, 4}) {
    on_ranks(3, [&](ThreadCommunicator world) {
      const auto model =
          make_trainer<float>(world, {.net = product_net(scales), .extents = {.pp = 3}, .micro_batches = 2});
      model->step(Rows::of({{1}, {1}}));
      for (int i = 0; i < scales; ++i) CHECK(model->gradient(weight(i)) == std::vector{1.0F});
    });
  }
}

TEST_CASE("O-33 micro-batches of different size") {
  for (const AnySchedule& schedule : schedules) {
    for (const int pp : {2, 1}) {
      on_ranks(pp, [&](ThreadCommunicator world) {
        Script script;
        const auto model = make_trainer<float>(world, {.net = product_net(2),
                                                       .extents = {.pp = pp},
                                                       .micro_batches = 3,
                                                       .schedule = schedule,
                                                       .script = &script});
        std::vector<std::vector<float>> x;
        for (int i = 1; i <= 8; ++i) x.push_back({static_cast<float>(i)});
        CHECK(model->forward_backward(Rows::of(x)).loss == 4.5);
        for (int i = 0; i < 2; ++i) CHECK(model->gradient(weight(i)) == std::vector{4.5F});
        std::vector<std::int64_t> seen;  // with one stage, by both Scales
        for (std::size_t i = 0; i < script.micro_batches.size(); i += pp == 1 ? 2 : 1)
          seen.push_back(script.micro_batches[i]);
        CHECK(seen == std::vector<std::int64_t>{3, 3, 2});
        for (std::size_t i = 0; i < x.size(); ++i) model->set_parameter(weight(0), {2});
        const std::vector<float> outputs = model->forward(Rows::of(x));
        REQUIRE(outputs.size() == 8);
        for (std::size_t i = 0; i < 8; ++i) CHECK(outputs[i] == 2 * x[i][0]);
      });
    }
  }
}

TEST_CASE("O-33 batches of every size up to what is reserved") {
  for (const AnySchedule& schedule : schedules) {
    on_ranks(6, [&](ThreadCommunicator world) {
      const auto model = make_trainer<float>(world, {.net = product_net(4),
                                                     .extents = {.dp = 2, .pp = 3},
                                                     .stage = Stage::parameters,
                                                     .micro_batches = 4,
                                                     .schedule = schedule});
      model->reserve({.sequences = 7, .tokens = 2, .input_features = 1});
      for (const int sequences : {7, 1, 5, 2, 4, 3, 6}) {
        for (const int tokens : {2, 1}) {
          std::vector<std::vector<float>> x;
          for (int i = 0; i < sequences * tokens; ++i) x.push_back({static_cast<float>(i)});
          const double mean = (sequences * tokens - 1) / 2.0;
          const Rows rows = Rows::of(x).in_sequences_of(tokens);
          CHECK(model->forward_backward(rows).loss == mean);
          CHECK(model->gradient(weight(3))[0] == doctest::Approx(mean));
          CHECK(model->evaluate(rows).sum == 2 * mean * sequences * tokens);
        }
      }
    });
  }
}

}  // namespace
}  // namespace triax::test
