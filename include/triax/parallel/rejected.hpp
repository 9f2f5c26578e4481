// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What stands in for the engine of an illegal composition.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <triax/core/step_state.hpp>
#include <triax/nn/batch.hpp>
#include <triax/parallel/engine.hpp>
#include <triax/parallel/rules.hpp>

namespace triax::detail {

/// Declares the members of Engine and defines none, so that a program with an illegal composition gets the
/// rule's sentence as its only error.
template <class Net, class S, class MeshType, class OptimizerType>
class Rejected {
 public:
  using communicator = typename MeshFacts<MeshType>::communicator;
  using device_type = typename communicator::device;
  using compute = compute_t<readable_strategy<S>>;
  using BatchType = Batch<device_type>;
  using Output = ModelOutput<compute, device_type>;

  Rejected(Net, S, MeshType&, OptimizerType, std::uint64_t);
  Rejected(const Rejected&) = delete;
  Rejected& operator=(const Rejected&) = delete;

  void reserve(const BatchShape&);
  StepResult step(const BatchType&);
  StepResult forward_backward(const BatchType&);
  StepResult update();
  LossSum evaluate(const BatchType&);
  Output forward(const BatchType&);
  Output gather_output(Output, const BatchType&);

  std::vector<std::string> parameter_paths() const;
  std::vector<float> parameter(std::string_view);
  void set_parameter(std::string_view, std::span<const float>);
  std::vector<float> gradient(std::string_view);
  std::vector<float> optimizer_state(std::string_view, int);
  std::int64_t step_count(std::string_view);

  Measured measured() const;
  const ActivationArenas<device_type>& activation_arenas() const;
  const OptimizerType& optimizer() const;
  device_type& device();
  MeshType& mesh();
  S& strategy();
};

}  // namespace triax::detail
