// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// One micro-batch through the units of a stage, forward and backward, on any device.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <triax/device/arena.hpp>
#include <triax/engine/units.hpp>
#include <triax/nn/context.hpp>

namespace triax {

/// The bytes of the arenas that a stage's activations need.
struct ActivationBytes {
  std::size_t slot = 0;  ///< of one slot
  std::array<std::size_t, 2> flow{};
  std::size_t scratch = 0;
  std::size_t workspace = 0;  ///< of the device

  /// Everything, for `slots` micro-batches in flight.
  std::size_t total(int slots) const {
    return static_cast<std::size_t>(slots) * slot + flow[0] + flow[1] + scratch + workspace;
  }
  friend bool operator==(const ActivationBytes&, const ActivationBytes&) = default;
};

/// The calls that took memory from arenas, and the bytes of all of them together.
struct Takes {
  std::size_t count = 0;
  std::size_t bytes = 0;

  friend bool operator==(const Takes&, const Takes&) = default;
};

/// The takes from a stage's activation arenas, all slots together.
struct ActivationTakes {
  Takes slot{};
  std::array<Takes, 2> flow{};
  Takes scratch{};

  friend bool operator==(const ActivationTakes&, const ActivationTakes&) = default;
};

/// The memory of the micro-batches in flight.
template <class Device>
struct ActivationArenas {
  std::vector<Arena<Device>> slots;
  std::array<Arena<Device>, 2> flow;
  Arena<Device> scratch;

  ActivationArenas(Device& device, const ActivationBytes& bytes, int slot_count)
      : flow{Arena<Device>(device, bytes.flow[0], "flow"), Arena<Device>(device, bytes.flow[1], "flow")},
        scratch(device, bytes.scratch, "scratch") {
    for (int i = 0; i < slot_count; ++i) slots.emplace_back(device, bytes.slot, "slot");
  }

  ActivationBytes measured(std::size_t workspace) const {
    std::size_t slot = 0;
    for (const Arena<Device>& arena : slots) slot = arena.peak() > slot ? arena.peak() : slot;
    return {slot, {flow[0].peak(), flow[1].peak()}, scratch.peak(), workspace};
  }
  /// Since the arenas were made.
  ActivationTakes takes() const {
    const auto of = [](const Arena<Device>& arena) { return Takes{arena.takes(), arena.taken()}; };
    ActivationTakes all{{}, {of(flow[0]), of(flow[1])}, of(scratch)};
    for (const Arena<Device>& arena : slots) {
      all.slot.count += arena.takes();
      all.slot.bytes += arena.taken();
    }
    return all;
  }
};

/// The units of a stage, and the shapes of the streams that enter and leave it for the largest micro-batch. A
/// shape of rank 0 stands for "none": the model begins or ends here.
struct StageBounds {
  int first_unit = 0;
  int last_unit = 0;  ///< one past the stage's last
  bool ends_in_loss = true;
  Shape stream_in{};
  Shape stream_out{};
};

/// What is told about units while they run. The engine's version gathers parameters and launches reductions.
struct NoUnitEvents {
  void before_forward(int) {}
  void after_forward(int, const Shape&) {}
  void before_backward(int) {}
  void after_backward(int) {}
};

/// Runs the units of a stage for one micro-batch at a time; each slot remembers its micro-batch between
/// forward and backward.
template <class Net, ComputeType T, class Device, class Communicator>
class StagePass {
 public:
  using Context = Ctx<T, Device, Communicator>;
  using tensor = typename Context::tensor;
  using FrameType = Frame<Device, Communicator>;

  /// `bindings[u]` are the parameters of the stage's u-th unit. `arenas` and `frame` outlive this object; of
  /// the frame, slot, flow and batch are set here.
  StagePass(const Net& net, const StageBounds& bounds, ActivationArenas<Device>& arenas,
            const std::vector<std::vector<Binding<T>>>& bindings, const FrameType& frame)
      : bounds_(bounds),
        arenas_(arenas),
        bindings_(bindings),
        frame_(frame),
        runner_(net, bounds.first_unit, bounds.last_unit, static_cast<int>(arenas.slots.size())),
        slots_(arenas.slots.size()) {}

  /// Empties a slot for a micro-batch and makes room for the streams that it will receive.
  void open(int slot, const Batch<Device>& batch) {
    Slot& place = slots_[index(slot)];
    Arena<Device>& arena = arenas_.slots[index(slot)];
    arena.rewind();
    place.batch = batch;
    place.incoming = receive_buffer(arena, bounds_.stream_in, batch);
    place.incoming_gradient = frame_.training ? receive_buffer(arena, bounds_.stream_out, batch) : tensor{};
  }
  tensor incoming(int slot) const { return slots_[index(slot)].incoming; }
  tensor incoming_gradient(int slot) const { return slots_[index(slot)].incoming_gradient; }

  /// The stage's forward; returns the stream that leaves its last unit. Where the model ends, the loss
  /// follows unless `loss` is null: it becomes the view of this micro-batch's sum.
  template <class Events>
  tensor forward(int slot, Events& events, typename Context::loss* loss) {
    prepare(slot);
    tensor x = slots_[index(slot)].incoming;
    for (int unit = bounds_.first_unit; unit < bounds_.last_unit; ++unit) {
      events.before_forward(unit);
      {
        Scope scope(arenas_.scratch);
        Context ctx = context(unit, Phase::forward);
        x = runner_.forward(unit, ctx, x, slot);
      }
      events.after_forward(unit, x.shape());
    }
    if (bounds_.ends_in_loss && loss) {
      Scope scope(arenas_.scratch);
      Context ctx(frame_, nullptr, Phase::forward, loss_site);
      *loss = runner_.loss_forward(ctx, x, slot);
    }
    return x;
  }

  /// The stage's backward; returns the gradient of the stream that entered it (null where the model begins
  /// here).
  template <class Events>
  tensor backward(int slot, Events& events) {
    prepare(slot);
    tensor dy = slots_[index(slot)].incoming_gradient;
    if (bounds_.ends_in_loss) {
      next_flow();
      Scope scope(arenas_.scratch);
      Context ctx(frame_, nullptr, Phase::backward, loss_site);
      dy = runner_.loss_backward(ctx, slot);
    }
    for (int unit = bounds_.last_unit; unit-- > bounds_.first_unit;) {
      events.before_backward(unit);
      next_flow();
      {
        Scope scope(arenas_.scratch);
        Context ctx = context(unit, Phase::backward);
        dy = runner_.backward(unit, ctx, dy, slot);
      }
      events.after_backward(unit);
    }
    return dy;
  }

  std::size_t slots() const { return slots_.size(); }
  FrameType& frame() { return frame_; }
  const StageBounds& bounds() const { return bounds_; }

 private:
  struct Slot {
    Batch<Device> batch{};
    tensor incoming{};
    tensor incoming_gradient{};
  };

  static std::size_t index(int slot) { return static_cast<std::size_t>(slot); }
  static tensor receive_buffer(Arena<Device>& arena, const Shape& largest, const Batch<Device>& batch) {
    if (largest.rank() == 0) return {};
    return arena.template take<T>(largest.with(0, batch.sequences()).with(1, batch.tokens()));
  }
  void prepare(int slot) {
    frame_.slot = &arenas_.slots[index(slot)];
    frame_.batch = &slots_[index(slot)].batch;
    flow_ = 0;
  }
  /// Turns to the flow arena whose streams nobody needs any more.
  void next_flow() {
    flow_ = 1 - flow_;
    frame_.flow = &arenas_.flow[flow_];
    frame_.flow->rewind();
  }
  Context context(int unit, Phase phase) {
    return Context(frame_, bindings_[index(unit - bounds_.first_unit)].data(), phase,
                   unit_site(runner_.place(unit)));
  }

  StageBounds bounds_;
  ActivationArenas<Device>& arenas_;
  const std::vector<std::vector<Binding<T>>>& bindings_;
  FrameType frame_;
  UnitRunner<Net, Context> runner_;
  std::vector<Slot> slots_;
  std::size_t flow_ = 0;
};

}  // namespace triax
