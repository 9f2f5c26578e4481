// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What all ranks of the mesh must know of a step: the norm, whether every gradient is finite, the losses, and
// which parameters have a gradient. One sum of doubles over the whole mesh.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/core/error.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/kernels/norm.hpp>

namespace triax {

/// The places of a message of doubles.
struct AgreementPlaces {
  static constexpr std::int64_t squares = 0;   ///< sum of squares of the loss-scaled gradient
  static constexpr std::int64_t infinite = 1;  ///< number of elements that are not finite
  static constexpr std::int64_t loss = 2;
  static constexpr std::int64_t added = 3;
  static constexpr std::int64_t flags = added + max_added_losses;  ///< one for each parameter of the model
};

namespace detail {

/// Puts this rank's flags and losses into the message.
struct ComposeAgreement {
  double* message;
  const std::uint8_t* asked;
  std::int64_t parameters;
  const StepState* state;
  bool counts_losses;

  void operator()() const {
    message[AgreementPlaces::squares] = 0;
    message[AgreementPlaces::infinite] = 0;
    message[AgreementPlaces::loss] = counts_losses ? state->loss : 0;
    for (int i = 0; i < max_added_losses; ++i)
      message[AgreementPlaces::added + i] = counts_losses ? state->added[i] : 0;
    for (std::int64_t i = 0; i < parameters; ++i) message[AgreementPlaces::flags + i] = asked[i] ? 1 : 0;
  }
};

/// Reads the agreed message into the step's state.
struct ApplyAgreement {
  const double* message;
  StepState* state;

  void operator()() const {
    state->norm = std::sqrt(message[AgreementPlaces::squares]) / static_cast<double>(state->loss_scale);
    state->finite = message[AgreementPlaces::infinite] == 0 ? 1 : 0;
    state->loss = message[AgreementPlaces::loss];
    for (int i = 0; i < max_added_losses; ++i) state->added[i] = message[AgreementPlaces::added + i];
  }
};

/// Gives two holders of a tied parameter the same flag: it has a gradient if either has one.
struct JoinFlags {
  double* first;
  double* second;

  void operator()() const {
    const double larger = *first > *second ? *first : *second;
    *first = larger;
    *second = larger;
  }
};

}  // namespace detail

/// Agrees on a step's outcome over the mesh.
template <class Device, class ChunkType, class Communicator>
class Agreement {
 public:
  Agreement(Device& device, const ModelLayout& layout, std::vector<ChunkType>& chunks, Communicator& mesh,
            Arena<Device>& arena)
      : device_(device),
        layout_(layout),
        chunks_(chunks),
        mesh_(mesh),
        message_(arena.template take<double>({message_size(layout)})),
        asked_(arena.template take<std::uint8_t>({static_cast<std::int64_t>(layout.parameters.size()) + 1})) {
    const auto& parameters = layout.parameters;
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      std::size_t i = 0;
      while (i < j &&
             (parameters[j].declared.tie.empty() || parameters[i].declared.tie != parameters[j].declared.tie))
        ++i;
      if (i < j) ties_.push_back({i, j});
    }
  }

  /// The elements of the message of a model.
  static std::int64_t message_size(const ModelLayout& layout) {
    return AgreementPlaces::flags + static_cast<std::int64_t>(layout.parameters.size());
  }

  /// Where layers note that they asked for the gradient of parameter `index` of the model.
  std::uint8_t* asked(int index) const { return asked_.data() + index; }
  /// After agreement: how many ranks asked for it, in device memory.
  const double* flag(int index) const { return message_.data() + AgreementPlaces::flags + index; }

  void begin_step() const { fill(device_, asked_, std::uint8_t{0}); }

  /// Sums over the mesh and writes norm, finite flag and losses to `state`. `counts_losses` is false on ranks
  /// whose losses are copies of another's.
  void agree(StepState* state, bool counts_losses) const {
    device_.launch(
        detail::ComposeAgreement{message_.data(), asked_.data(),
                                 static_cast<std::int64_t>(layout_.parameters.size()), state, counts_losses},
        Cost{});
    double* const squares = message_.data() + AgreementPlaces::squares;
    double* const infinite = message_.data() + AgreementPlaces::infinite;
    for (const ChunkType& chunk : chunks_) {
      if (!chunk.shape->trained || !counts_in_norm(chunk)) continue;
      for (const auto& parameter : chunk.bound) {
        const ElementRange range =
            intersect({parameter.offset, parameter.binding->shape.size()}, chunk.slice());
        if (range.size > 0)
          accumulate_squares(device_, chunk.reduced_gradient(range.first), range.size, squares, infinite);
      }
    }
    mesh_.all_reduce(message_.span(), Sum{}, Order::rank{}).wait();
    device_.launch(detail::ApplyAgreement{message_.data(), state}, Cost{});
    join_ties();
  }

  /// After agreement: throws MismatchError on every rank when a parameter has a gradient on some of its
  /// holders only, naming the parameters and the ranks without. `control` is the whole mesh.
  void check_unused(Communicator& control) const {
    const int stages = static_cast<int>(layout_.stage_bounds.size()) - 1;
    const int ranks_per_stage = control.size() / stages;
    const std::size_t parameters = layout_.parameters.size();
    bool differs = false;
    for (std::size_t i = 0; i < parameters; ++i) {
      const double askers = *flag(static_cast<int>(i));
      differs = differs || (askers != 0 && askers != ranks_per_stage);
    }
    if (!differs) return;
    std::vector<std::uint8_t> all(parameters * static_cast<std::size_t>(control.size()));
    control.all_gather(std::span<const std::uint8_t>(asked_.data(), parameters), std::span(all)).wait();
    std::string missing;
    for (std::size_t i = 0; i < parameters; ++i) {
      const PlacedParameter& parameter = layout_.parameters[i];
      const int first = layout_.stage_of(parameter.unit) * ranks_per_stage;
      const auto asked = [&](int rank) { return all[static_cast<std::size_t>(rank) * parameters + i] != 0; };
      bool anywhere = false;
      for (int rank = first; rank < first + ranks_per_stage; ++rank) anywhere = anywhere || asked(rank);
      for (int rank = first; anywhere && rank < first + ranks_per_stage; ++rank) {
        if (!asked(rank))
          missing += (missing.empty() ? "" : ", ") + parameter.path + " on rank " + std::to_string(rank);
      }
    }
    if (!missing.empty())
      throw MismatchError(
          "some parameters have a gradient on a part of their replicas only; there is none for " + missing +
          "; use Unused::zero if that is meant");
  }

 private:
  /// The first holder of a tied parameter and another one, as indices into ModelLayout::parameters.
  struct TiedPair {
    std::size_t first;
    std::size_t other;
  };

  /// Holders of a tied parameter are updated alike, whichever of them was asked for a gradient: the first one
  /// collects the flags of the others and hands the result back.
  void join_ties() const {
    double* const flags = message_.data() + AgreementPlaces::flags;
    for (int pass = 0; pass < 2; ++pass)
      for (const TiedPair& pair : ties_)
        device_.launch(detail::JoinFlags{flags + pair.first, flags + pair.other}, Cost{});
  }
  /// A tied parameter is counted where it stands first in the model.
  bool counts_in_norm(const ChunkType& chunk) const {
    if (chunk.shape->tie.empty()) return true;
    for (const ChunkShape& shape : layout_.chunks)
      if (shape.tie == chunk.shape->tie) return &shape == chunk.shape;
    return true;
  }

  Device& device_;
  const ModelLayout& layout_;
  std::vector<ChunkType>& chunks_;
  Communicator& mesh_;
  Tensor<double, Device> message_;
  Tensor<std::uint8_t, Device> asked_;
  std::vector<TiedPair> ties_;
};

}  // namespace triax
