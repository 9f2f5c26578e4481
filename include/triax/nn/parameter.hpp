// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a layer declares about its parameters: everything the engine needs to place, cut, initialise and
// update them.

#pragma once

#include <cstdint>
#include <string>

#include <triax/core/shape.hpp>

namespace triax {

/// The values that a parameter starts with. They depend on the parameter's name and an element's global index
/// only, so every layout starts from the same model.
struct Initialiser {
  enum class Kind : std::uint8_t { constant, normal, uniform };

  Kind kind = Kind::normal;
  float location = 0;   ///< the constant; the mean; the lower bound
  float scale = 0.02F;  ///< the standard deviation; the width of the interval

  static constexpr Initialiser constant(float value) { return {Kind::constant, value, 0}; }
  static constexpr Initialiser zeros() { return constant(0); }
  static constexpr Initialiser ones() { return constant(1); }
  static constexpr Initialiser normal(float mean, float deviation) { return {Kind::normal, mean, deviation}; }
  static constexpr Initialiser uniform(float low, float high) { return {Kind::uniform, low, high - low}; }

  friend constexpr bool operator==(const Initialiser&, const Initialiser&) = default;
};

/// The dimension that tensor parallelism cuts, as `sections` of equal size laid side by side, each cut alone:
/// a fused query-key-value matrix has three.
struct Split {
  int dimension = -1;  ///< -1: every rank holds the whole parameter
  int sections = 1;

  static const Split none;
  static const Split rows;
  static const Split columns;

  /// The same cut of `count` sections.
  constexpr Split in_sections(int count) const { return {dimension, count}; }
  friend constexpr bool operator==(const Split&, const Split&) = default;
};
inline constexpr Split Split::none{};
inline constexpr Split Split::rows{0, 1};
inline constexpr Split Split::columns{1, 1};

/// Whether the gradient of an unsplit parameter must be summed over tensor-parallel ranks, which no engine
/// can derive.
enum class Over : std::uint8_t {
  stream,   ///< partial if and only if the stream is a shard of the sequence
  partial,  ///< always partial: the parameter is used by heads that live on one rank
  same,     ///< the same on every rank
};

/// Trained, or a state that the layer writes itself: no gradient and no optimizer, but saved.
enum class ParameterKind : std::uint8_t { trained, state };

/// One parameter of a layer, by global shape. Weights are [in, out], row-major.
struct Parameter {
  std::string name{};
  Shape shape{};
  Initialiser init = Initialiser::normal(0, 0.02F);
  Split split = Split::none;
  std::string tie{};  ///< parameters with the same non-empty tie are one: equal shape, split and initialiser
  bool frozen = false;   ///< not trained: no gradient, master or optimizer memory
  bool decay = true;     ///< whether weight decay applies; false for biases and norms
  bool experts = false;  ///< dimension 0 is cut over expert parallelism
  ParameterKind kind = ParameterKind::trained;
  Over tp_gradient = Over::stream;
};

}  // namespace triax
