// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a model costs, found by running its own layers on a Meter.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <triax/comm/extents.hpp>
#include <triax/comm/meter_communicator.hpp>
#include <triax/core/error.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/meter.hpp>
#include <triax/engine/layout.hpp>
#include <triax/engine/stage_pass.hpp>

namespace triax {

/// One unit of a model: the cost of its forward and backward for the measured batch, and the shape of the
/// stream that leaves it.
struct UnitMeasure {
  Cost forward{};
  Cost backward{};
  Shape stream{};

  /// A time in units of floating-point operations, for cutting pipelines: a byte costs what ten operations
  /// do, which is about the balance of a processor core and of an accelerator alike.
  double time() const { return forward.flops + backward.flops + 10 * (forward.bytes + backward.bytes); }
};

/// What a run of a row of units on a Meter showed.
struct StageMeasure {
  ActivationBytes activations{};
  ActivationTakes takes{};  ///< of one micro-batch, forward and backward
  std::vector<UnitMeasure> units;
  Cost executed{};           ///< forward and backward, everything
  double product_flops = 0;  ///< of products and attention alone
  std::vector<std::string> added_losses;
};

namespace detail {

/// Notes costs and stream shapes between the units.
template <class MeterDevice>
struct MeterEvents {
  const MeterDevice& meter;
  std::vector<UnitMeasure>& units;
  int first_unit;
  Cost before{};

  UnitMeasure& of(int unit) { return units[static_cast<std::size_t>(unit - first_unit)]; }
  Cost since() const {
    return {meter.executed().flops - before.flops, meter.executed().bytes - before.bytes};
  }

  void before_forward(int) { before = meter.executed(); }
  void after_forward(int unit, const Shape& stream) {
    of(unit).forward = since();
    of(unit).stream = stream;
  }
  void before_backward(int) { before = meter.executed(); }
  void after_backward(int unit) { of(unit).backward = since(); }
};

template <class Device>
struct NameSink final : LossSink<Device> {
  std::vector<std::string>& names;

  explicit NameSink(std::vector<std::string>& list) : names(list) {}
  void add(std::string_view name, Tensor<LossSum, Device>, float) override {
    for (const std::string& known : names)
      if (known == name) return;
    if (names.size() == static_cast<std::size_t>(max_added_losses))
      throw ConfigError("a model's layers may add at most " + std::to_string(max_added_losses) +
                        " losses by name; '" + std::string(name) + "' is one too many");
    names.emplace_back(name);
  }
};

}  // namespace detail

/// Runs forward and backward of the stage `bounds` for a micro-batch of `shape`, in compute type T, on a
/// Meter that stands for `Device`. Throws what the layers throw for shapes that do not fit.
template <ComputeType T, class Device, class Net>
StageMeasure measure_stage(const Net& net, const ModelLayout& layout, const StageBounds& bounds,
                           const BatchShape& shape, const Extents& extents) {
  using MeterDevice = Meter<Device>;
  MeterDevice meter;
  auto* const address = reinterpret_cast<float*>(meter.allocate(0));
  const auto tokens = [&](const Shape& sizes) {
    return Tensor<const std::int32_t, MeterDevice>(reinterpret_cast<const std::int32_t*>(address), sizes);
  };
  const auto values = [&](std::int64_t features) {
    return Tensor<const float, MeterDevice>(address, {shape.sequences, shape.tokens, features});
  };
  const Shape token_shape{shape.sequences, shape.tokens};
  const Tensor<const float, MeterDevice> weights(address, token_shape);
  Batch<MeterDevice> batch(tokens(token_shape), tokens(token_shape), weights, 0);
  if (shape.target_features > 0)
    batch = Batch<MeterDevice>(values(shape.input_features), values(shape.target_features), weights, 0);
  else if (shape.input_features > 0)
    batch = Batch<MeterDevice>(values(shape.input_features), tokens(token_shape), weights, 0);

  std::uint8_t asked = 0;
  std::vector<std::vector<Binding<T>>> bindings;
  for (int unit = bounds.first_unit; unit < bounds.last_unit; ++unit) {
    std::vector<Binding<T>>& list = bindings.emplace_back();
    for (int i = layout.first_parameter[static_cast<std::size_t>(unit)];
         i < layout.first_parameter[static_cast<std::size_t>(unit) + 1]; ++i) {
      const PlacedParameter& parameter = layout.parameters[static_cast<std::size_t>(i)];
      auto* const gradient = reinterpret_cast<accumulator_t<T>*>(address);
      list.push_back(
          {reinterpret_cast<T*>(address), parameter.trained() ? gradient : nullptr, parameter.local, &asked});
    }
  }

  constexpr std::size_t unlimited = ~std::size_t{0} / 4;
  ActivationArenas<MeterDevice> arenas(meter, {unlimited, {unlimited, unlimited}, unlimited, 0}, 1);
  MeterCommunicator tp(0, extents.tp);
  MeterCommunicator cp(0, extents.cp);
  MeterCommunicator ep(0, extents.ep);
  StepState state;
  StageMeasure result;
  result.units.resize(static_cast<std::size_t>(bounds.last_unit - bounds.first_unit));
  detail::NameSink<MeterDevice> sink(result.added_losses);
  StagePass<Net, T, MeterDevice, MeterCommunicator> pass(net, bounds, arenas, bindings,
                                                         {.device = meter,
                                                          .tp = tp,
                                                          .cp = cp,
                                                          .ep = ep,
                                                          .scratch = arenas.scratch,
                                                          .state = &state,
                                                          .losses = &sink});

  detail::MeterEvents<MeterDevice> events{meter, result.units, bounds.first_unit};
  typename Ctx<T, MeterDevice, MeterCommunicator>::loss loss;
  pass.open(0, batch);
  pass.forward(0, events, &loss);
  pass.backward(0, events);
  result.activations = arenas.measured(meter.workspace_bytes());
  result.takes = arenas.takes();
  result.executed = meter.executed();
  result.product_flops = meter.product_flops();
  return result;
}

}  // namespace triax
