// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Applies the optimizer to what this rank owns, and brings the new parameters back to where they are used.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <triax/comm/communicator.hpp>
#include <triax/core/bytes.hpp>
#include <triax/core/random.hpp>
#include <triax/core/step_state.hpp>
#include <triax/device/arena.hpp>
#include <triax/engine/agreement.hpp>
#include <triax/engine/chunk.hpp>
#include <triax/kernels/elementwise.hpp>
#include <triax/kernels/update.hpp>
#include <triax/optim/optimizer.hpp>

namespace triax {

/// How master weights become 16-bit parameters.
enum class Rounding : std::uint8_t {
  nearest,     ///< to nearest, ties to even
  stochastic,  ///< up with the probability of the distance to the lower neighbour: unbiased
};

namespace detail {

/// Counts this step for every parameter that has a gradient. The sign says whether it has one: optimizers
/// leave a parameter alone whose count is not positive.
struct AdvanceStepCounts {
  std::int32_t* counts;
  const double* flags;
  std::int64_t size;
  const StepState* state;

  void operator()() const {
    if (!state->finite) return;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int32_t before = counts[i] < 0 ? -counts[i] : counts[i];
      counts[i] = flags[i] > 0 ? before + 1 : -before;
    }
  }
};

/// Rounds fp32 up or down to bf16 with the probability of the distances, keyed by the element's global place,
/// so that replicas and layouts draw the same.
struct CastStochastically {
  bf16* to;
  const float* from;
  std::int64_t size;
  std::int64_t first;  ///< index of the first element in its parameter
  std::uint64_t key;
  const std::int32_t* step_count;
  const StepState* state;

  void operator()() const {
    if (!is_updated(*state, *step_count)) return;  // the same weights would be rounded another way
    for (std::int64_t i = 0; i < size; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(from[i]);
      const bool special = (bits & 0x7f800000U) == 0x7f800000U;
      const auto random =
          philox(static_cast<std::uint64_t>(first + i), static_cast<std::uint64_t>(state->applied), key);
      to[i] = special ? bf16(from[i])
                      : std::bit_cast<bf16>(static_cast<std::uint16_t>((bits + (random[0] >> 16)) >> 16));
    }
  }
};

}  // namespace detail

/// The last part of a step.
template <ComputeType T, class Device, class ChunkType, class Communicator>
class Updater {
 public:
  using Request = request_t<Communicator>;

  Updater(Device& device, const ModelLayout& layout, std::vector<ChunkType>& chunks, Arena<Device>& arena)
      : device_(device),
        layout_(layout),
        chunks_(chunks),
        counts_(
            arena.template take<std::int32_t>({static_cast<std::int64_t>(layout.parameters.size()) + 1})) {
    gathers_.reserve(chunks.size());
  }

  /// Updates the owned range of every parameter with a gradient, unless the step is not finite; casts, and
  /// gathers parameters whose state alone is sharded. The messages are sent in every step.
  template <class OptimizerType, class AgreementType>
  void update(const OptimizerType& optimizer, const StepState* state, const AgreementType& agreement,
              Rounding rounding, std::uint64_t seed) {
    device_.launch(detail::AdvanceStepCounts{counts_.data(), agreement.flag(0),
                                             static_cast<std::int64_t>(layout_.parameters.size()), state},
                   Cost{});
    for (ChunkType& chunk : chunks_) {
      if (!chunk.shape->trained) continue;
      for (const auto& parameter : chunk.bound)
        update_parameter(chunk, parameter, optimizer, state, rounding, seed);
      if (chunk.sharded.state && !chunk.sharded.parameters)
        gathers_.push_back(chunk.group->all_gather(
            std::span<const T>(chunk.owned_values(), static_cast<std::size_t>(chunk.shape->slice())),
            std::span<T>(chunk.values, static_cast<std::size_t>(chunk.size()))));
    }
    for (Request& request : gathers_) request.wait();
    gathers_.clear();
  }

  /// How many updates each parameter of the model has had; negative while it had no gradient in the last
  /// step.
  std::int32_t* step_count(int parameter) const { return counts_.data() + parameter; }

 private:
  template <class OptimizerType>
  void update_parameter(ChunkType& chunk, const typename ChunkType::Bound& parameter,
                        const OptimizerType& optimizer, const StepState* state, Rounding rounding,
                        std::uint64_t seed) {
    const ElementRange updated = chunk.updated();
    const ElementRange range = intersect({parameter.offset, parameter.binding->shape.size()}, updated);
    if (range.size == 0) return;
    const std::int64_t at = range.first - updated.first;
    const PlacedParameter& placed = layout_.parameters[static_cast<std::size_t>(parameter.parameter)];

    UpdateRange elements;
    elements.weights = chunk.master + at;
    elements.gradient = chunk.reduced_gradient(range.first);
    for (std::size_t i = 0; i < elements.state.size(); ++i)
      elements.state[i] = chunk.state[i] ? chunk.state[i] + at : nullptr;
    elements.size = range.size;
    elements.decay = placed.declared.decay;
    elements.step_count = counts_.data() + parameter.parameter;
    optimizer.update(device_, elements, state);

    if constexpr (!std::is_same_v<T, float>) {
      T* values = chunk.updated_values() + at;
      if constexpr (std::is_same_v<T, bf16>) {
        if (rounding == Rounding::stochastic) {
          device_.launch(
              detail::CastStochastically{values, elements.weights, range.size, range.first - parameter.offset,
                                         seed ^ hash(placed.random_name()), elements.step_count, state},
              Cost{0, 6.0 * static_cast<double>(range.size)});
          return;
        }
      }
      cast(device_, Tensor<const float, Device>(elements.weights, {range.size}),
           Tensor<T, Device>(values, {range.size}));
    }
  }

  Device& device_;
  const ModelLayout& layout_;
  std::vector<ChunkType>& chunks_;
  Tensor<std::int32_t, Device> counts_;
  std::vector<Request> gathers_;
};

}  // namespace triax
