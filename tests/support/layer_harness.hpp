// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Runs a single layer on given numbers and checks, by the way, what every layer must keep to:
// * on a Meter it takes the same memory as on the Host;
// * it reads nothing that it has not written, neither scratch of an earlier call nor an output that it gave
//   away;
// * it leaves its arguments alone;
// * it gives the same bits again, in two halves (SplitLayer), and with frozen parameters.

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/self.hpp>
#include <triax/nn/layer_runner.hpp>

#include "support/numbers.hpp"

namespace triax::test {

/// The data of a batch; empty vectors stand for what the batch does not have.
struct BatchData {
  BatchShape shape{};
  std::vector<std::int32_t> inputs{};
  std::vector<std::int32_t> targets{};
  std::vector<float> input_values{};
  std::vector<float> target_values{};
  std::vector<float> weights{};
  std::int64_t first_sample = 0;

  Batch<Host> view() const {
    const Shape tokens{shape.sequences, shape.tokens};
    const Shape in{shape.sequences, shape.tokens, shape.input_features};
    const Shape out{shape.sequences, shape.tokens, shape.target_features};
    const Tensor<const float, Host> weight =
        weights.empty() ? Tensor<const float, Host>{} : view_of(weights, tokens);
    if (input_values.empty())
      return {view_of(inputs, tokens), view_of(targets, tokens), weight, first_sample};
    if (target_values.empty())
      return {view_of(input_values, in), view_of(targets, tokens), weight, first_sample};
    return {view_of(input_values, in), view_of(target_values, out), weight, first_sample};
  }

 private:
  template <class T>
  static Tensor<const T, Host> view_of(const std::vector<T>& data, const Shape& shape) {
    REQUIRE((data.empty() || static_cast<std::int64_t>(data.size()) == shape.size()));
    return {data.empty() ? nullptr : data.data(), shape};
  }
};

/// What a layer is given, in double; it is rounded to the type under test.
struct LayerCase {
  Shape shape{};                                  ///< of the stream that comes in
  std::vector<double> x{};                        ///< that stream; unused by an InputLayer
  std::vector<std::vector<double>> parameters{};  ///< in the order of declaration
  std::vector<double> dy{};  ///< gradient of the stream that goes out; unused by a LossLayer
  BatchData batch{};
  std::int64_t first_position = 0;
  std::int64_t step = 0;
  std::uint64_t random_seed = 1;
  float seed = 1;       ///< where the backward of a loss starts
  double gradient = 0;  ///< what the gradient accumulators hold beforehand
  bool training = true;
  bool backward = true;
};

/// What came of it.
struct LayerOutcome {
  Shape shape{};            ///< of the stream that goes out
  std::vector<double> y{};  ///< that stream
  LossSum loss{};           ///< of a LossLayer
  std::vector<double> dx{};
  std::vector<std::vector<double>> gradients{};
  std::vector<bool> asked{};  ///< whether the layer asked for each gradient
};

namespace detail {

/// One forward and backward of `runner` as `given` says. `split`: in two halves. `dirty`: memory is
/// overwritten in between.
template <ComputeType T, class L>
LayerOutcome run_once(LayerRunner<L, T, Host, SelfCommunicator>& runner, const LayerCase& given, bool split,
                      bool dirty) {
  using Stream = Tensor<T, Host>;
  LayerOutcome outcome;
  runner.frame().positions.first = given.first_position;
  runner.frame().training = given.training;
  runner.frame().seed = given.random_seed;
  runner.state().step = given.step;
  runner.state().seed = given.seed;
  for (std::size_t i = 0; i < runner.declared().size(); ++i) {
    REQUIRE(i < given.parameters.size());
    assign<T>(runner.parameter(i).span(), given.parameters[i]);
    for (auto& value : runner.gradient(i).span()) value = static_cast<accumulator_t<T>>(given.gradient);
  }
  if (dirty) runner.overwrite_arenas();

  const std::vector<T> x = rounded_to<T>(given.x);
  std::vector<T> x_copy = x;
  const Stream stream = given.x.empty() ? Stream{} : Stream{x_copy.data(), given.shape};
  auto out = runner.forward(stream);
  if (dirty) runner.overwrite_scratch();
  if constexpr (std::is_same_v<decltype(out), Stream>) {
    outcome.shape = out.shape();
    outcome.y = to_doubles(out.span());
  } else {
    outcome.loss = out[0];
  }
  if (dirty) std::memset(static_cast<void*>(out.data()), 0xff, out.bytes());

  if (given.backward) {
    const std::vector<T> dy = rounded_to<T>(given.dy);
    std::vector<T> dy_copy = dy;
    const Stream gradient = given.dy.empty() ? Stream{} : Stream{dy_copy.data(), outcome.shape};
    if constexpr (SplitLayer<L, typename LayerRunner<L, T, Host, SelfCommunicator>::Context>) {
      if (split) {
        const Stream dx = runner.backward_input(gradient);
        runner.overwrite_scratch();
        outcome.dx = to_doubles(dx.span());
        std::memset(static_cast<void*>(dx.data()), 0xff, dx.bytes());
        runner.backward_weight();
      }
    }
    if (!split) {
      const Stream dx = runner.backward(gradient);
      if (dirty) runner.overwrite_scratch();
      outcome.dx = to_doubles(dx.span());
    }
    CHECK(same_bits(dy, dy_copy));
  }
  CHECK(same_bits(x, x_copy));
  for (std::size_t i = 0; i < runner.declared().size(); ++i) {
    outcome.gradients.push_back(to_doubles(runner.gradient(i).span()));
    outcome.asked.push_back(runner.asked(i));
  }
  return outcome;
}

template <class MeterArena, class HostArena>
void check_same_use(const MeterArena& metered, const HostArena& used) {
  CHECK(metered.peak() == used.peak());
  CHECK(metered.takes() == used.takes());
  CHECK(metered.taken() == used.taken());
}

inline void check_same(const LayerOutcome& a, const LayerOutcome& b, bool gradients) {
  CHECK(a.shape == b.shape);
  CHECK(same_bits(a.y, b.y));
  CHECK(a.loss.sum == b.loss.sum);
  CHECK(a.loss.weight == b.loss.weight);
  CHECK(same_bits(a.dx, b.dx));
  if (gradients) CHECK(a.gradients == b.gradients);
}

}  // namespace detail

/// Runs `layer` forward and backward in the type T, and checks what the head of this file promises.
template <ComputeType T, class L>
LayerOutcome run_layer(const L& layer, const LayerCase& given) {
  using OnMeter = LayerRunner<L, T, Meter<Host>, MeterCommunicator>;
  using OnHost = LayerRunner<L, T, Host, SelfCommunicator>;
  constexpr bool splits = SplitLayer<L, typename OnHost::Context>;
  const Batch<Host> batch = given.batch.view();

  Meter<Host> meter;
  MeterCommunicator meter_communicator;
  const Batch<Meter<Host>> meter_batch = metered(batch);
  const ArenaBytes plenty{std::size_t{1} << 40, std::size_t{1} << 40, std::size_t{1} << 40};
  OnMeter metered_layer(layer, meter, meter_communicator, meter_batch, plenty);
  metered_layer.frame().training = given.training;
  const Tensor<T, Meter<Host>> stream{reinterpret_cast<T*>(meter.allocate(0)), given.shape};
  const auto out = metered_layer.forward(stream);
  if (given.backward) metered_layer.backward({reinterpret_cast<T*>(meter.allocate(0)), out.shape()});

  Host host;
  SelfCommunicator communicator;
  OnHost runner(layer, host, communicator, batch, metered_layer.peak());
  const LayerOutcome outcome = detail::run_once<T>(runner, given, false, false);
  detail::check_same_use(metered_layer.slot(), runner.slot());
  detail::check_same_use(metered_layer.scratch(), runner.scratch());
  detail::check_same_use(metered_layer.flow(), runner.flow());
  CHECK(meter.workspace_bytes() == host.workspace_bytes());
  detail::check_same(outcome, detail::run_once<T>(runner, given, false, true), true);

  if (given.backward) {
    OnHost frozen(layer, host, communicator, batch, metered_layer.peak(), true);
    detail::check_same(outcome, detail::run_once<T>(frozen, given, false, false), false);
  }
  if constexpr (splits) {
    metered_layer.forward(stream);
    metered_layer.backward_input({reinterpret_cast<T*>(meter.allocate(0)), out.shape()});
    metered_layer.backward_weight();
    OnHost halves(layer, host, communicator, batch, metered_layer.peak());
    detail::check_same(outcome, detail::run_once<T>(halves, given, true, true), true);
  }
  return outcome;
}

}  // namespace triax::test
