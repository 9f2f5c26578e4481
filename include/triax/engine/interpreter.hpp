// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Carries out a schedule's action table.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/engine/micro_batches.hpp>
#include <triax/engine/stage_pass.hpp>
#include <triax/kernels/elementwise.hpp>
#include <triax/schedule/table.hpp>

namespace triax {

namespace detail {

/// Adds a micro-batch's sum to a total of the step.
struct AddLoss {
  double* total;
  const LossSum* loss;

  void operator()() const { *total += loss->sum; }
};

}  // namespace detail

/// At most so many messages of a channel are under way, which is what the schedules' verifier assumes.
inline constexpr std::size_t messages_under_way = 2;

/// Runs one step's table for this rank's stage.
///
/// Receives are posted as soon as their buffers are free, ahead of the computation that precedes them.
/// Activations are sent from the slot, which stays untouched until their gradient has come back; gradients
/// are copied into one of two send buffers.
template <class Net, ComputeType T, class Device, class Communicator>
class Interpreter {
 public:
  using Pass = StagePass<Net, T, Device, Communicator>;
  using tensor = typename Pass::tensor;
  using Request = request_t<Communicator>;

  /// `pipeline` is the communicator over pp; send buffers are taken from `arena`.
  Interpreter(Pass& pass, Device& device, Communicator& pipeline, Arena<Device>& arena)
      : pass_(pass), device_(device), pipeline_(pipeline) {
    const Shape& stream_in = pass.bounds().stream_in;
    for (Message& message : gradients_out_)
      if (stream_in.rank() > 0) message.buffer = arena.template take<T>(stream_in).data();
  }

  /// Carries out this rank's actions of `table` on the micro-batches of `batch`. `events` is told about the
  /// units and, by `set_last(bool)`, whether an action completes the step's gradients. The stream that leaves
  /// the model goes into the loss, or, where `output` is not null, is copied there instead: it has room for
  /// all sequences of the batch.
  template <class Events>
  void run(const ScheduleTable& table, const Batch<Device>& batch, const MicroBatchCut& cut, Events& events,
           T* output = nullptr) {
    begin(table, batch, cut);
    for (at_ = 0; at_ < actions_.size(); ++at_) {
      const Action& action = actions_[at_];
      post_receives();
      switch (action.what) {
        case Do::receive_activation:
          wait(activations_in_, action.micro_batch);
          break;
        case Do::receive_gradient:
          wait(gradients_in_, action.micro_batch);
          break;
        case Do::forward:
          forward(action, events, output);
          break;
        case Do::send_activation:
          send_activation(table, action);
          break;
        case Do::backward:
          backward(action, events);
          break;
        case Do::send_gradient:
          send_gradient(table, action);
          break;
        case Do::backward_weight:
          break;
      }
    }
    finish();
  }

 private:
  static constexpr int none = -1;
  /// One message under way, and what it belongs to.
  struct Message {
    Request request{};
    int micro_batch = none;
    int slot = none;
    T* buffer = nullptr;  ///< of a gradient that is sent
  };
  using Channel = std::array<Message, messages_under_way>;

  void begin(const ScheduleTable& table, const Batch<Device>& batch, const MicroBatchCut& cut) {
    table_ = &table;
    batch_ = &batch;
    cut_ = &cut;
    actions_ = table.actions(pipeline_.rank());
    posted_ = 0;
    occupant_.assign(pass_.slots(), none);
    outgoing_.resize(occupant_.size());
  }

  /// Where an action's micro-batch lives. Evaluation asks for two alternating slots, but works in one.
  std::size_t slot(const Action& action) const { return action.slot % occupant_.size(); }

  static Message& message_of(Channel& channel, int micro_batch) {
    return channel[static_cast<std::size_t>(micro_batch) % channel.size()];
  }
  void wait(Channel& channel, int micro_batch) {
    Message& message = message_of(channel, micro_batch);
    if (message.micro_batch == none) return;
    message.request.wait();
    message.micro_batch = none;
  }
  /// The slot takes up the work of another micro-batch; what was sent from it has arrived before.
  void occupy(const Action& action) {
    int& occupant = occupant_[slot(action)];
    if (occupant == action.micro_batch) return;
    for (Message& message : activations_out_)
      if (message.micro_batch != none && message.slot == static_cast<int>(slot(action)))
        wait(activations_out_, message.micro_batch);
    occupant = action.micro_batch;
    pass_.open(static_cast<int>(slot(action)),
               batch_->slice(cut_->first(action.micro_batch), cut_->size(action.micro_batch)));
  }

  /// Posts the receives whose turn it is and whose slot is ready: for an activation a free one, for a
  /// gradient the one of its micro-batch.
  void post_receives() {
    for (; posted_ < actions_.size(); ++posted_) {
      const Action& action = actions_[posted_];
      if (action.what == Do::receive_activation) {
        const int occupant = occupant_[slot(action)];
        if (occupant != none && occupant != action.micro_batch) return;
        if (message_of(activations_in_, action.micro_batch).micro_batch != none) return;
        occupy(action);
        post(activations_in_, action, pass_.incoming(static_cast<int>(slot(action))));
      } else if (action.what == Do::receive_gradient) {
        if (occupant_[slot(action)] != action.micro_batch) return;
        if (message_of(gradients_in_, action.micro_batch).micro_batch != none) return;
        post(gradients_in_, action, pass_.incoming_gradient(static_cast<int>(slot(action))));
      }
    }
  }
  void post(Channel& channel, const Action& action, tensor buffer) {
    Message& message = message_of(channel, action.micro_batch);
    message.request = pipeline_.recv(buffer.span(), table_->peer(pipeline_.rank(), action));
    message.micro_batch = action.micro_batch;
  }

  template <class Events>
  void forward(const Action& action, Events& events, T* output) {
    occupy(action);
    typename Pass::Context::loss loss;
    const tensor y = pass_.forward(static_cast<int>(slot(action)), events, output ? nullptr : &loss);
    outgoing_[slot(action)] = y;
    if (!pass_.bounds().ends_in_loss) return;
    if (output) {
      const std::int64_t before = cut_->first(action.micro_batch) * (y.size() / y.shape()[0]);
      copy(device_, y, tensor(output + before, y.shape()));
    } else {
      device_.launch(detail::AddLoss{&pass_.frame().state->loss, loss.data()}, Cost{1, 0});
    }
    if (table_->passes() == Passes::forward) occupant_[slot(action)] = none;
  }
  template <class Events>
  void backward(const Action& action, Events& events) {
    events.set_last(action.last);
    const tensor dx = pass_.backward(static_cast<int>(slot(action)), events);
    occupant_[slot(action)] = none;
    if (!dx) return;
    wait(gradients_out_, action.micro_batch);
    copy(device_, dx, tensor(message_of(gradients_out_, action.micro_batch).buffer, dx.shape()));
    gradient_shape_ = dx.shape();
  }
  void send_activation(const ScheduleTable& table, const Action& action) {
    wait(activations_out_, action.micro_batch);
    Message& message = message_of(activations_out_, action.micro_batch);
    const tensor& y = outgoing_[slot(action)];
    message.request = pipeline_.send(std::span<const T>(y.span()), table.peer(pipeline_.rank(), action));
    message.micro_batch = action.micro_batch;
    message.slot = static_cast<int>(slot(action));
    if (table.passes() == Passes::forward) occupant_[slot(action)] = none;
  }
  void send_gradient(const ScheduleTable& table, const Action& action) {
    Message& message = message_of(gradients_out_, action.micro_batch);
    const tensor dx(message.buffer, gradient_shape_);
    message.request = pipeline_.send(std::span<const T>(dx.span()), table.peer(pipeline_.rank(), action));
    message.micro_batch = action.micro_batch;
  }
  void finish() {
    for (Channel* channel : {&activations_out_, &gradients_out_})
      for (Message& message : *channel)
        if (message.micro_batch != none) wait(*channel, message.micro_batch);
  }

  Pass& pass_;
  Device& device_;
  Communicator& pipeline_;
  const ScheduleTable* table_ = nullptr;
  const Batch<Device>* batch_ = nullptr;
  const MicroBatchCut* cut_ = nullptr;
  std::span<const Action> actions_;
  std::size_t at_ = 0;
  std::size_t posted_ = 0;  ///< the first action whose receive may still have to be posted
  std::vector<int> occupant_;
  std::vector<tensor> outgoing_;
  Channel activations_in_{};
  Channel activations_out_{};
  Channel gradients_in_{};
  Channel gradients_out_{};
  Shape gradient_shape_{};
};

}  // namespace triax
