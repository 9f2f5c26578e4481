// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Runs one layer without a model around it, for gradient checks, tests and benchmarks of layers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <triax/nn/layer.hpp>

namespace triax {

/// The bytes of the arenas from which a layer takes its memory.
struct ArenaBytes {
  std::size_t slot = 0;
  std::size_t scratch = 0;
  std::size_t flow = 0;
};

/// The parameters that a layer declares; none for a loss that declares nothing.
template <class L>
std::vector<Parameter> declared_parameters(const L& layer) {
  if constexpr (DeclaresParameters<L>) {
    const auto parameters = layer.parameters();
    return {parameters.begin(), parameters.end()};
  } else {
    return {};
  }
}

/// What stands for `tensor` on a Meter: the same shape, at an address that nothing may touch.
template <class T>
Tensor<T, Meter<Host>> metered(const Tensor<T, Host>& tensor) {
  return {tensor ? reinterpret_cast<T*>(Meter<Host>{}.allocate(tensor.bytes())) : nullptr, tensor.shape()};
}
/// What stands for `batch` on a Meter.
inline Batch<Meter<Host>> metered(const Batch<Host>& batch) {
  const auto weights = metered(batch.weights());
  if (batch.inputs().shape().rank() != 0)
    return {metered(batch.inputs()), metered(batch.targets()), weights, batch.first_sample()};
  if (batch.targets().shape().rank() != 0)
    return {metered(batch.input_values()), metered(batch.targets()), weights, batch.first_sample()};
  return {metered(batch.input_values()), metered(batch.target_values()), weights, batch.first_sample()};
}

/// One layer of any kind with the memory of a single micro-batch on one rank: parameters, gradients, arenas
/// and the step's state. It calls the layer as the engine does. Batch and communicator must outlive it.
template <class L, ComputeType T, class Device, class Communicator>
class LayerRunner final : private LossSink<Device> {
 public:
  using Context = Ctx<T, Device, Communicator>;
  using Stream = Tensor<T, Device>;
  using Gradient = Tensor<accumulator_t<T>, Device>;
  static_assert(Layer<L, Context> || InputLayer<L, Context> || LossLayer<L, Context>,
                "the first argument must be a Layer, an InputLayer or a LossLayer");

  /// A loss that the layer added to its model's.
  struct AddedLoss {
    Tensor<LossSum, Device> loss;
    float factor;
  };

  /// `frozen` leaves all parameters without gradients.
  LayerRunner(const L& layer, Device& device, Communicator& communicator, const Batch<Device>& batch,
              const ArenaBytes& bytes, bool frozen = false)
      : layer_(layer),
        declared_(declared_parameters(layer)),
        asked_(declared_.size()),
        parameters_(device, parameter_bytes(), "parameters"),
        slot_(device, bytes.slot, "slot"),
        scratch_(device, bytes.scratch, "scratch"),
        flow_(device, bytes.flow, "flow"),
        frame_{.device = device,
               .tp = communicator,
               .cp = communicator,
               .ep = communicator,
               .scratch = scratch_,
               .slot = &slot_,
               .flow = &flow_,
               .batch = &batch,
               .state = &state_,
               .losses = this} {
    for (std::size_t i = 0; i < declared_.size(); ++i) {
      const Shape& shape = declared_[i].shape;
      const bool trained = !frozen && !declared_[i].frozen && declared_[i].kind == ParameterKind::trained;
      bindings_.push_back(
          {.value = parameters_.template take<T>(shape).data(), .shape = shape, .asked = &asked_[i]});
      if (trained) bindings_[i].gradient = parameters_.template take<accumulator_t<T>>(shape).data();
    }
  }
  LayerRunner(const LayerRunner&) = delete;
  LayerRunner& operator=(const LayerRunner&) = delete;

  const std::vector<Parameter>& declared() const { return declared_; }
  Stream parameter(std::size_t i) const { return {bindings_[i].value, bindings_[i].shape}; }
  /// Null for a parameter that is frozen or a state.
  Gradient gradient(std::size_t i) const {
    return bindings_[i].gradient ? Gradient{bindings_[i].gradient, bindings_[i].shape} : Gradient{};
  }
  /// Whether the layer has asked for the gradient of parameter `i`.
  bool asked(std::size_t i) const { return asked_[i] != 0; }

  /// Training or not, seed, positions: everything that a context shows of its micro-batch.
  Frame<Device, Communicator>& frame() { return frame_; }
  StepState& state() { return state_; }
  const std::vector<AddedLoss>& added_losses() const { return added_; }

  /// Starts a new micro-batch and runs the layer: the stream that it makes, or its loss. An InputLayer
  /// ignores `x`.
  auto forward(Stream x) {
    slot_.rewind();
    flow_.rewind();
    added_.clear();
    cache_ = {};
    const Scope scope(scratch_);
    Context ctx(frame_, bindings_.data(), Phase::forward, 0);
    if constexpr (InputLayer<L, Context>) {
      return layer_.forward(ctx, cache_);
    } else {
      return layer_.forward(ctx, x, cache_);
    }
  }
  /// The gradient of the stream that came in; null for an InputLayer. A LossLayer ignores `dy`.
  Stream backward(Stream dy) {
    flow_.rewind();
    const Scope scope(scratch_);
    Context ctx(frame_, bindings_.data(), Phase::backward, 0);
    if constexpr (InputLayer<L, Context>) {
      layer_.backward(ctx, dy, cache_);
      return {};
    } else if constexpr (LossLayer<L, Context>) {
      return layer_.backward(ctx, cache_);
    } else {
      return layer_.backward(ctx, dy, cache_);
    }
  }
  Stream backward_input(Stream dy)
    requires SplitLayer<L, Context>
  {
    const Scope scope(scratch_);
    Context ctx(frame_, bindings_.data(), Phase::backward_input, 0);
    return layer_.backward_input(ctx, dy, cache_);
  }
  void backward_weight()
    requires SplitLayer<L, Context>
  {
    const Scope scope(scratch_);
    Context ctx(frame_, bindings_.data(), Phase::backward_weight, 0);
    layer_.backward_weight(ctx, cache_);
  }

  /// Fills the scratch arena with bytes that are not a number in any floating-point type: nothing may be read
  /// there after a call. It counts as a take.
  void overwrite_scratch()
    requires(Device::directly_readable)
  {
    overwrite(scratch_);
  }
  /// The same for all arenas, before a micro-batch: no layer may read what it has not written.
  void overwrite_arenas()
    requires(Device::directly_readable)
  {
    overwrite(scratch_);
    overwrite(flow_);
    overwrite(slot_);
  }

  const Arena<Device>& slot() const { return slot_; }
  const Arena<Device>& scratch() const { return scratch_; }
  const Arena<Device>& flow() const { return flow_; }
  /// The sizes that the calls so far have needed.
  ArenaBytes peak() const { return {slot_.peak(), scratch_.peak(), flow_.peak()}; }

 private:
  void add(std::string_view, Tensor<LossSum, Device> loss, float factor) override {
    added_.push_back({loss, factor});
  }

  static void overwrite(Arena<Device>& arena) {
    arena.rewind();
    const auto bytes = arena.template take<std::byte>({static_cast<std::int64_t>(arena.capacity())});
    if (bytes) std::memset(bytes.data(), 0xff, bytes.bytes());
    arena.rewind();
  }

  std::size_t parameter_bytes() const {
    std::size_t bytes = 0;
    for (const Parameter& parameter : declared_) {
      const auto size = static_cast<std::size_t>(parameter.shape.size());
      bytes += round_up(size * sizeof(T), Device::alignment);
      bytes += round_up(size * sizeof(accumulator_t<T>), Device::alignment);
    }
    return bytes;
  }

  const L layer_;
  const std::vector<Parameter> declared_;
  std::vector<std::uint8_t> asked_;
  Arena<Device> parameters_;
  Arena<Device> slot_;
  Arena<Device> scratch_;
  Arena<Device> flow_;
  StepState state_{};
  Frame<Device, Communicator> frame_;
  std::vector<Binding<T>> bindings_{};
  std::vector<AddedLoss> added_{};
  cache_t<L, Context> cache_{};
};

}  // namespace triax
