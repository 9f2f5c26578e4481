// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a layer is handed in every call: parameters, gradients, memory, the micro-batch and the step's state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <triax/core/float16.hpp>
#include <triax/core/position.hpp>
#include <triax/core/random.hpp>
#include <triax/core/step_state.hpp>
#include <triax/core/tensor.hpp>
#include <triax/device/arena.hpp>
#include <triax/nn/batch.hpp>

namespace triax {

/// What a layer is asked to do. In `backward`, outputs live in the flow arena; otherwise in the slot.
enum class Phase : std::uint8_t { forward, backward, backward_input, backward_weight };

/// Where one parameter of a layer lives during a call.
template <ComputeType T>
struct Binding {
  T* value = nullptr;
  accumulator_t<T>* gradient = nullptr;  ///< null for a frozen parameter
  Shape shape{};                         ///< of this rank's part
  std::uint8_t* asked = nullptr;         ///< set when a layer asks for the gradient in this step
};

/// Receives the losses that layers add; implemented by the engine.
template <class Device>
class LossSink {
 public:
  virtual void add(std::string_view name, Tensor<LossSum, Device> loss, float factor) = 0;

 protected:
  ~LossSink() = default;
};

/// What all layers of one micro-batch share. The engine fills it; layers see it through Ctx.
template <class Device, class Communicator>
struct Frame {
  Device& device;
  Communicator& tp;
  Communicator& cp;
  Communicator& ep;
  Arena<Device>& scratch;         ///< emptied after each layer
  Arena<Device>* slot = nullptr;  ///< what lives until the micro-batch's backward
  Arena<Device>* flow = nullptr;  ///< what lives until the next unit's backward has returned
  const Batch<Device>* batch = nullptr;
  StepState* state = nullptr;
  LossSink<Device>* losses = nullptr;
  Positions positions{};
  std::uint64_t seed = 0;  ///< of the model's random numbers
  bool training = true;
};

/// The context of a call to a layer: a small value that is copied for each sub-layer. A whole model sees one
/// Ctx type.
///
/// Lifetimes: a layer only reads its arguments; it may keep an argument in its Cache, but never its own
/// output, which the caller may overwrite. What `save` returns lives until this micro-batch's backward
/// (`backward_weight` for a SplitLayer) has run; what `scratch` returns dies with the call.
template <ComputeType T, class Device, class Communicator>
class Ctx {
 public:
  using compute = T;
  using accumulator = accumulator_t<T>;
  using device_type = Device;
  using communicator = Communicator;
  template <class U>
  using tensor_of = Tensor<U, Device>;
  using tensor = Tensor<T, Device>;
  using const_tensor = Tensor<const T, Device>;
  using loss = Tensor<LossSum, Device>;

  Ctx(Frame<Device, Communicator>& frame, const Binding<T>* bindings, Phase phase, std::uint64_t site)
      : device(frame.device),
        tp(frame.tp),
        cp(frame.cp),
        ep(frame.ep),
        frame_(&frame),
        bindings_(bindings),
        site_(site),
        phase_(phase) {}

  Device& device;
  Communicator& tp;
  Communicator& cp;
  Communicator& ep;

  /// Parameter `i` in the order of the layer's `parameters()`: this rank's part, in the compute type.
  const_tensor parameter(int i) const { return {bindings_[i].value, bindings_[i].shape}; }
  /// The accumulator of parameter `i`; null for a frozen parameter. Asking for it gives the parameter a
  /// gradient in this step.
  tensor_of<accumulator> gradient(int i) const {
    const Binding<T>& binding = bindings_[i];
    if (!binding.gradient) return {};
    *binding.asked = 1;
    return {binding.gradient, binding.shape};
  }
  /// Parameter `i` of kind `state`, for writing.
  tensor state(int i) const { return {bindings_[i].value, bindings_[i].shape}; }

  /// Memory in the compute type that lives until this micro-batch's backward has run.
  tensor save(const Shape& shape) const { return frame_->slot->template take<T>(shape); }
  /// Memory in the compute type that dies when the call returns.
  tensor scratch(const Shape& shape) const { return frame_->scratch.template take<T>(shape); }
  /// The stream that this layer returns.
  tensor output(const Shape& shape) const { return output_arena().template take<T>(shape); }

  /// The micro-batch.
  const Batch<Device>& batch() const { return *frame_->batch; }
  /// The global positions of the stream's tokens.
  Positions positions() const { return frame_->positions; }
  /// Loss scale / tokens, in device memory: the factor of every loss's backward.
  const float* seed() const { return &frame_->state->seed; }
  /// The random numbers of a place in this layer; `index` tells several places in one layer apart.
  RandomSite random(int index) const {
    const std::uint64_t site = child_site(site_, index);
    const auto mixed = philox(site, 0, frame_->seed);
    return {static_cast<std::uint64_t>(mixed[1]) << 32 | mixed[0], &frame_->state->step,
            frame_->batch->first_sample(), frame_->positions};
  }
  /// Whether a backward will follow: false in `evaluate` and `forward`.
  bool training() const { return frame_->training; }
  Phase phase() const { return phase_; }

  /// Adds factor * sum / tokens to the objective and reports sum / tokens under `name`. The layer's own
  /// backward must start from `*seed() * factor`.
  void add_loss(std::string_view name, loss sum, float factor) const {
    if (frame_->losses) frame_->losses->add(name, sum, factor);
  }

  /// The context of sub-layer `index`, whose parameters begin at `first_parameter`.
  Ctx sublayer(int index, int first_parameter) const {
    Ctx result = *this;
    result.bindings_ = bindings_ + first_parameter;
    result.site_ = child_site(site_, index);
    return result;
  }
  /// The arena that `scratch` takes from; composites open a Scope on it for each sub-layer.
  Arena<Device>& scratch_arena() const { return frame_->scratch; }
  Arena<Device>& slot_arena() const { return *frame_->slot; }

  /// The path of a sub-layer as one number: a layer's random numbers are keyed by its place in the model.
  static constexpr std::uint64_t child_site(std::uint64_t site, int index) {
    return (site ^ static_cast<std::uint64_t>(index + 1)) * 0x9e3779b97f4a7c15ULL;
  }

 private:
  Arena<Device>& output_arena() const { return phase_ == Phase::backward ? *frame_->flow : *frame_->slot; }

  Frame<Device, Communicator>* frame_;
  const Binding<T>* bindings_;
  std::uint64_t site_;
  Phase phase_;
};

/// `save` of another type than the compute type: save<float>(ctx, shape). A free function, so that no
/// `template` keyword is needed in a layer.
template <class U, class Context>
Tensor<U, typename Context::device_type> save(const Context& ctx, const Shape& shape) {
  return ctx.slot_arena().template take<U>(shape);
}
/// `scratch` of another type than the compute type.
template <class U, class Context>
Tensor<U, typename Context::device_type> scratch(const Context& ctx, const Shape& shape) {
  return ctx.scratch_arena().template take<U>(shape);
}
/// The type of such a tensor, for a Cache: tensor_t<Ctx, float>.
template <class Context, class U>
using tensor_t = Tensor<U, typename Context::device_type>;

}  // namespace triax
