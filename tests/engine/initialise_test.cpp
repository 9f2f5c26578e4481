// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The values that parameters start with, and the agreement on them.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/engine/initialise.hpp>

using namespace triax;

namespace {

constexpr std::int64_t count = 200000;

/// The first two moments and the fourth, about the mean and in units of the deviation.
struct Moments {
  double mean = 0, deviation = 0, fourth = 0;
};
Moments moments(const InitialValues& values) {
  Moments m;
  for (std::int64_t i = 0; i < count; ++i) m.mean += static_cast<double>(values(i)) / count;
  double variance = 0;
  for (std::int64_t i = 0; i < count; ++i)
    variance += std::pow(static_cast<double>(values(i)) - m.mean, 2) / count;
  for (std::int64_t i = 0; i < count; ++i)
    m.fourth += std::pow(static_cast<double>(values(i)) - m.mean, 4) / (variance * variance) / count;
  m.deviation = std::sqrt(variance);
  return m;
}

}  // namespace

TEST_CASE("initial values have the moments of their distribution") {
  const double tolerance = 4 / std::sqrt(static_cast<double>(count));
  const Moments normal = moments({Initialiser::normal(3, 0.5F), "0.0.weight", 1});
  CHECK(std::abs(normal.mean - 3) <= 0.5 * tolerance);
  CHECK(std::abs(normal.deviation - 0.5) <= 0.5 * tolerance);
  CHECK(std::abs(normal.fourth - 3) <= 10 * tolerance);
  const Moments uniform = moments({Initialiser::uniform(-1, 3), "0.0.weight", 1});
  CHECK(std::abs(uniform.mean - 1) <= 2 * tolerance);
  CHECK(std::abs(uniform.deviation - 4 / std::sqrt(12.0)) <= 2 * tolerance);
  CHECK(std::abs(uniform.fourth - 1.8) <= 4 * tolerance);
  const InitialValues bounded(Initialiser::uniform(-1, 3), "0.0.weight", 1);
  for (std::int64_t i = 0; i < 1000; ++i) {
    CHECK(bounded(i) >= -1);
    CHECK(bounded(i) < 3);
  }
  CHECK(InitialValues(Initialiser::ones(), "0.0.scale", 1)(12345) == 1);
  CHECK(InitialValues(Initialiser::zeros(), "0.0.bias", 1)(0) == 0);
}

TEST_CASE("an initial value is a function of name, seed and index alone") {
  const auto init = Initialiser::normal(0, 1);
  const InitialValues first(init, "1.0.weight", 1);
  CHECK(first(77) == InitialValues(init, "1.0.weight", 1)(77));
  std::set<float> different;
  for (const char* name : {"1.0.weight", "1.1.weight", "0.1.weight"})
    for (const std::uint64_t seed : {1U, 2U, 3U})
      for (const std::int64_t index : {0, 1, 2}) different.insert(InitialValues(init, name, seed)(index));
  CHECK(different.size() == 27);
}

namespace {

ModelLayout layout_of(const std::vector<Initialiser>& initialisers) {
  ModelLayout layout;
  for (std::size_t i = 0; i < initialisers.size(); ++i) {
    PlacedParameter& parameter = layout.parameters.emplace_back();
    parameter.path = std::to_string(i) + ".0.weight";
    parameter.declared.shape = {3, 4};
    parameter.declared.init = initialisers[i];
  }
  return layout;
}

}  // namespace

TEST_CASE("replicas follow rank 0, or are checked") {
  run_threads(3, [](ThreadCommunicator world) {
    const auto mine = Initialiser::normal(0, world.rank() == 2 ? 0.5F : 0.25F);
    ModelLayout layout = layout_of({Initialiser::ones(), mine});
    agree_on_parameters(layout, world, Replicas::follow);
    CHECK(layout.parameters[0].declared.init == Initialiser::ones());
    CHECK(layout.parameters[1].declared.init == Initialiser::normal(0, 0.25F));
    agree_on_parameters(layout, world, Replicas::check);

    ModelLayout other = layout_of({Initialiser::ones(), mine});
    CHECK_THROWS_WITH_AS(
        agree_on_parameters(other, world, Replicas::check),
        "the ranks would start parameter 1.0.weight from different values; construct the same model on "
        "every rank, or use Replicas::follow",
        MismatchError);
  });
}

TEST_CASE("ranks with different models are told so, all of them") {
  run_threads(2, [](ThreadCommunicator world) {
    std::vector<Initialiser> list(world.rank() == 0 ? 2 : 3, Initialiser::zeros());
    ModelLayout counts = layout_of(list);
    CHECK_THROWS_AS(agree_on_parameters(counts, world, Replicas::follow), MismatchError);
    list.resize(2);
    ModelLayout shapes = layout_of(list);
    if (world.rank() == 1) shapes.parameters[1].declared.shape = {4, 3};
    CHECK_THROWS_WITH_AS(agree_on_parameters(shapes, world, Replicas::follow),
                         doctest::Contains("the ranks' models differ in parameter 1.0.weight"),
                         MismatchError);
  });
}
