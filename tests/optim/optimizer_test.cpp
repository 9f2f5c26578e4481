// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The concept, and optimizers chosen at run time.

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <triax/device/meter.hpp>
#include <triax/optim/adamw.hpp>
#include <triax/optim/one_of.hpp>
#include <triax/optim/sgd.hpp>

#include "optim/trained_parameter.hpp"
#include "support/numbers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

// The least that an optimizer needs.
struct Archetype {
  static constexpr bool elementwise = false;
  static constexpr int max_states = 0;
  int states() const { return 0; }
  struct Rate {
    float operator()(std::int64_t) const { return 1; }
  };
  Rate learning_rate() const { return {}; }
  template <class Device>
  void update(Device&, const UpdateRange&, const StepState*) const {}
};
static_assert(Optimizer<Archetype>);

struct Silent : Archetype {
  int elementwise() const;
};
struct Greedy : Archetype {
  static constexpr int max_states = max_optimizer_states + 1;
};
struct Rateless : Archetype {
  void learning_rate() const;
};
struct Idle : Archetype {
  void update() const;
};
static_assert(!DeclaresElementwise<Silent> && !CountsStates<Greedy> && !HasLearningRate<Rateless> &&
              !UpdatesRange<Idle>);
static_assert(!Optimizer<Silent> && !Optimizer<Greedy> && !Optimizer<Rateless> && !Optimizer<Idle> &&
              !Optimizer<int>);

using Chosen = OneOf<AdamW, Sgd>;
static_assert(Optimizer<Chosen> && Chosen::elementwise && Chosen::max_states == 2);
static_assert(Optimizer<OneOf<Sgd>> && OneOf<Sgd>::max_states == 1);

}  // namespace

TEST_CASE("an optimizer chosen at run time acts as the chosen one") {
  const auto gradient = rounded_to<float>(random_values(19, 1));
  const auto initial = rounded_to<float>(random_values(19, 2));
  const auto check = [&](const auto& optimizer) {
    const Chosen chosen = optimizer;
    CHECK(chosen.states() == optimizer.states());
    CHECK(chosen.learning_rate()(3) == optimizer.lr(3));
    TrainedParameter a(initial), b(initial);
    for (int step = 0; step < 3; ++step) {
      a.update(chosen, gradient, at_rate(0.1F));
      b.update(optimizer, gradient, at_rate(0.1F));
    }
    CHECK(same_bits(a.weights, b.weights));
    CHECK_FALSE(same_bits(a.weights, initial));
  };
  check(AdamW{.lr = LearningRate(1).warm_up(8)});
  check(Sgd{.lr = 0.5});
  check(Sgd{.lr = 0.5, .momentum = 0.9});
  CHECK(Chosen{}.states() == 2);  // the first is the default
}

TEST_CASE("an update costs its passes over memory") {
  const auto bytes_of = [](const Chosen& optimizer) {
    Meter<Host> meter;
    optimizer.update(meter, UpdateRange{.size = 100}, nullptr);
    return meter.executed().bytes;
  };
  CHECK(bytes_of(AdamW{}) == 2800);               // w, m, v read and written, g read
  CHECK(bytes_of(Sgd{}) == 1200);                 // w read and written, g read
  CHECK(bytes_of(Sgd{.momentum = 0.9}) == 2000);  // and the buffer
}
