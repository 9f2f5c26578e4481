// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A small linear model whose units can be tied, frozen and made to misbehave at run time.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <triax/nn/context.hpp>

#include "support/models/gpt.hpp"
#include "support/models/model_rank.hpp"

namespace triax::test {

/// What a unit does on the Host that it does not do on a Meter.
enum class Misdeed : std::uint8_t {
  none,
  saves_more,  ///< its forward saves one number more
  takes_more,  ///< it takes one number more of scratch, below the peak
  throws_in_forward,
  throws_in_backward,
  no_gradient,  ///< it does not ask for the gradient of its second matrix
};

/// A unit y = x + x first + x second, with matrices {width, width}.
struct ProbeSpec {
  std::array<std::string, 2> ties{};
  bool frozen = false;
  float penalty = 0;  ///< adds the loss "penalty" with this factor: the sum of y's squares
  Misdeed misdeed = Misdeed::none;
};

inline constexpr int probe_units = 6;  ///< the first is InputValues, the fourth is wrapped in Frozen

/// What is told by the strategy's hook.
struct HookTarget {
  virtual ~HookTarget() = default;
  virtual void before_unit(int, Phase) {}
  virtual void after_unit(int, Phase) {}
  virtual void gradient_ready(const PlacedParameter&) {}
  virtual void before_update(const PlacedParameter&, Tensor<float, Host>) {}
};

struct ProbeOptions {
  int width = 6;
  std::array<ProbeSpec, probe_units> units{};  ///< the first is not used
  Extents mesh{};
  Policies policies{};
  AnyOptimizer optimizer = Sgd{.lr = 0.05, .momentum = 0.9};
  std::uint64_t seed = 1;
  HookTarget* hook = nullptr;
};

/// The model on one rank of threads. Collective.
std::unique_ptr<ModelRank> make_probe(ThreadWorldRank world, const ProbeOptions& options);

/// A batch of the whole mesh for it: numbers in [-1, 1).
class ValueBatch {
 public:
  ValueBatch(int step, std::int64_t sequences, std::int64_t tokens, std::int64_t width);

  /// The contiguous part of data-parallel rank `rank` of `ranks`.
  Batch<Host> part(int rank, int ranks) const;

 private:
  Shape shape_;
  std::vector<float> inputs_;
  std::vector<float> targets_;
};

}  // namespace triax::test
