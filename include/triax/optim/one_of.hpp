// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// An optimizer chosen at run time.

#pragma once

#include <concepts>
#include <variant>

#include <triax/optim/optimizer.hpp>

namespace triax {

/// One of several optimizers as a value, so that a program that lets its user choose is compiled for one
/// optimizer:
///
///     OneOf<AdamW, Sgd> optimizer = Sgd{.lr = 0.1, .momentum = 0.9};
template <Optimizer... Os>
class OneOf {
 public:
  static constexpr bool elementwise = (Os::elementwise && ...);
  static constexpr int max_states = [] {
    int most = 0;
    ((most = Os::max_states > most ? Os::max_states : most), ...);
    return most;
  }();

  OneOf() = default;
  template <class O>
    requires(std::same_as<O, Os> || ...)
  OneOf(const O& optimizer)
      : chosen_(optimizer) {}  // NOLINT(google-explicit-constructor): each is one of them

  int states() const {
    return std::visit([](const auto& optimizer) -> int { return optimizer.states(); }, chosen_);
  }
  LearningRate learning_rate() const {
    return std::visit([](const auto& optimizer) -> LearningRate { return optimizer.learning_rate(); },
                      chosen_);
  }
  template <class Device>
  void update(Device& device, const UpdateRange& range, const StepState* state) const {
    std::visit([&](const auto& optimizer) { optimizer.update(device, range, state); }, chosen_);
  }

 private:
  std::variant<Os...> chosen_;
};

}  // namespace triax
