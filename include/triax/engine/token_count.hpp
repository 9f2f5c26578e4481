// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The first agreement of a step: how many tokens count, and whether all ranks bring the same amount of work.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <triax/comm/communicator.hpp>
#include <triax/core/error.hpp>
#include <triax/core/step_state.hpp>
#include <triax/core/tensor.hpp>
#include <triax/device/arena.hpp>
#include <triax/device/device.hpp>
#include <triax/kernels/elementwise.hpp>

namespace triax {

/// The places of the count's message of doubles.
struct TokenCountPlaces {
  static constexpr std::int64_t tokens = 0;     ///< sum of weights
  static constexpr std::int64_t sequences = 1;  ///< sum of sequences, and of their squares
  static constexpr std::int64_t sequences_squared = 2;
  static constexpr std::int64_t length = 3;  ///< sum of tokens per sequence, and of their squares
  static constexpr std::int64_t length_squared = 4;
  static constexpr std::int64_t size = 5;
};

namespace detail {

/// Writes the amount of work beside the count, to which ranks whose data are copies of another's contribute
/// nothing.
struct ComposeCount {
  double* message;
  double sequences;
  double length;
  bool contributes;

  void operator()() const {
    using P = TokenCountPlaces;
    message[P::tokens] *= contributes ? 1 : 0;
    message[P::sequences] = sequences;
    message[P::sequences_squared] = sequences * sequences;
    message[P::length] = length;
    message[P::length_squared] = length * length;
  }
};

/// Begins a step's state: tokens, and the seed of every backward.
struct BeginStep {
  const double* message;
  StepState* state;

  void operator()() const {
    const double tokens = message[TokenCountPlaces::tokens];
    state->tokens = tokens;
    state->seed = tokens > 0 ? static_cast<float>(static_cast<double>(state->loss_scale) / tokens) : 0.0F;
    state->gradient_scale = state->loss_scale;
    state->clip = 1;
    state->loss = 0;
    for (double& added : state->added) added = 0;
  }
};

}  // namespace detail

/// Counts the tokens of a step over the mesh.
template <class Device, class Communicator>
class TokenCount {
 public:
  /// `contributes` is false on ranks whose data are copies of another's (pp, tp).
  TokenCount(Device& device, Communicator& mesh, bool contributes, Arena<Device>& arena)
      : device_(device),
        mesh_(mesh),
        contributes_(contributes),
        message_(arena.template take<double>({TokenCountPlaces::size})) {}

  /// Sums the tokens that `add_weights(double* sum)` adds up on each rank, and begins the step in `state`.
  /// Throws ShapeError on every rank when ranks bring different numbers of sequences or tokens, and Error for
  /// weights that cannot be a count.
  template <class AddWeights>
  void agree(std::int64_t sequences, std::int64_t length, StepState* state, AddWeights add_weights) const {
    fill(device_, message_, 0.0);
    add_weights(message_.data() + TokenCountPlaces::tokens);
    device_.launch(detail::ComposeCount{message_.data(), static_cast<double>(sequences),
                                        static_cast<double>(length), contributes_},
                   Cost{});
    mesh_.all_reduce(message_.span(), Sum{}, Order::rank{}).wait();
    check(sequences, length);
    device_.launch(detail::BeginStep{message_.data(), state}, Cost{});
  }

 private:
  /// Equal values on all ranks have the squared sum that their mean has.
  void check(std::int64_t sequences, std::int64_t length) const {
    if constexpr (Device::directly_readable) {
      using P = TokenCountPlaces;
      const double ranks = mesh_.size();
      const auto equal = [&](std::int64_t sum, std::int64_t squares) {
        return message_[squares] * ranks == message_[sum] * message_[sum];
      };
      if (!equal(P::sequences, P::sequences_squared) || !equal(P::length, P::length_squared))
        throw ShapeError(
            "every rank must bring the same number of sequences and tokens to a step, but rank " +
            std::to_string(mesh_.rank()) + " brought " + std::to_string(sequences) + " sequences of " +
            std::to_string(length) + " tokens while the mean is " +
            std::to_string(message_[P::sequences] / ranks) + " of " +
            std::to_string(message_[P::length] / ranks) + "; pad with sequences of weight 0");
      const double tokens = message_[P::tokens];
      if (!(tokens >= 0 && tokens < std::numeric_limits<double>::infinity()))
        throw Error(
            "the weights of a step's tokens must add up to a finite number that is not negative, but they "
            "add up to " +
            std::to_string(tokens));
    }
  }

  Device& device_;
  Communicator& mesh_;
  bool contributes_;
  Tensor<double, Device> message_;
};

}  // namespace triax
