// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The axes of a mesh, their extents, and the numbering of ranks.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <triax/comm/concat.hpp>
#include <triax/core/error.hpp>

namespace triax {

/// The axes of a mesh, in the order in which ranks are numbered: tp varies fastest, pp slowest.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };

inline constexpr int axis_count = 5;

constexpr const char* name(Axis axis) {
  constexpr std::array<const char*, axis_count> names{"tp", "cp", "ep", "dp", "pp"};
  return names[static_cast<std::size_t>(axis)];
}

/// The axes in the order in which they are written: dp, pp, tp, cp, ep.
inline constexpr std::array<Axis, axis_count> axes_as_written{Axis::dp, Axis::pp, Axis::tp, Axis::cp,
                                                              Axis::ep};

/// A set of axes.
class Axes {
 public:
  constexpr Axes() = default;
  constexpr Axes(Axis axis) : bits_(1U << static_cast<unsigned>(axis)) {}
  constexpr Axes(std::initializer_list<Axis> axes) {
    for (const Axis axis : axes) bits_ |= Axes(axis).bits_;
  }

  constexpr bool contains(Axis axis) const { return (bits_ & Axes(axis).bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  /// A number below 32 that is different for every set.
  constexpr std::size_t index() const { return bits_; }
  friend constexpr Axes operator|(Axes a, Axes b) {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(Axes, Axes) = default;

 private:
  unsigned bits_ = 0;
};

inline constexpr std::size_t axes_count = std::size_t{1} << axis_count;

/// For example "dp+cp".
inline std::string name(Axes axes) {
  std::string text;
  for (const Axis axis : axes_as_written) {
    if (axes.contains(axis)) detail::append_item(text, "+", name(axis));
  }
  return text;
}

/// An extent that a program gives at run time, where the others are fixed in a type.
inline constexpr int dynamic = 0;
/// An extent that is the number of ranks divided by the other extents. One axis may have it.
inline constexpr int automatic = -1;

namespace detail {

/// The member of S that belongs to an axis.
template <class S>
constexpr auto member_of(Axis axis) -> int S::* {
  switch (axis) {
    case Axis::tp:
      return &S::tp;
    case Axis::cp:
      return &S::cp;
    case Axis::ep:
      return &S::ep;
    case Axis::dp:
      return &S::dp;
    default:
      return &S::pp;
  }
}

}  // namespace detail

/// How many ranks there are along each axis: data, pipeline, tensor, context and expert parallelism.
struct Extents {
  int dp = 1, pp = 1, tp = 1, cp = 1, ep = 1;

  constexpr int& operator[](Axis axis) { return this->*detail::member_of<Extents>(axis); }
  constexpr int operator[](Axis axis) const { return this->*detail::member_of<Extents>(axis); }
  /// The number of ranks, if no extent is dynamic or automatic.
  constexpr int product() const { return dp * pp * tp * cp * ep; }
  friend constexpr bool operator==(const Extents&, const Extents&) = default;
};

/// Where a rank is along each axis.
struct Coordinates {
  int dp = 0, pp = 0, tp = 0, cp = 0, ep = 0;

  constexpr int& operator[](Axis axis) { return this->*detail::member_of<Coordinates>(axis); }
  constexpr int operator[](Axis axis) const { return this->*detail::member_of<Coordinates>(axis); }
  friend constexpr bool operator==(const Coordinates&, const Coordinates&) = default;
};

/// Extents as a value that carries them in its type: extents<Extents{.dp = 2, .pp = dynamic}>.
template <Extents E>
struct FixedExtents {};
template <Extents E>
inline constexpr FixedExtents<E> extents{};

/// Nothing is fixed.
inline constexpr Extents run_time_extents{dynamic, dynamic, dynamic, dynamic, dynamic};

/// Whether an extent is `special`: dynamic or automatic.
constexpr bool has(const Extents& extents, int special) {
  for (int axis = 0; axis < axis_count; ++axis) {
    if (extents[static_cast<Axis>(axis)] == special) return true;
  }
  return false;
}

/// `fixed` with its dynamic extents taken from `given`. Throws ConfigError if `given` contradicts a fixed
/// one.
inline Extents complete(const Extents& fixed, const Extents& given) {
  Extents result = fixed;
  for (const Axis axis : axes_as_written) {
    if (fixed[axis] == dynamic) {
      result[axis] = given[axis];
    } else if (given[axis] != 1 && given[axis] != fixed[axis]) {
      throw ConfigError(detail::concat("the mesh's extent ", name(axis), " is fixed as ", fixed[axis],
                                       " in its type, but ", given[axis], " was given"));
    }
  }
  return result;
}

namespace detail {

/// For example "dp x tp x pp = 2x2x1=4"; `left_out` does not take part.
inline std::string spell_product(const Extents& extents, Axes left_out = {}) {
  std::string names, factors;
  std::int64_t product = 1;
  for (const Axis axis : {Axis::dp, Axis::tp, Axis::pp, Axis::cp, Axis::ep}) {
    const bool rare = axis == Axis::cp || axis == Axis::ep;
    if (left_out.contains(axis) || (rare && extents[axis] == 1)) continue;
    append_item(names, " x ", name(axis));
    append_item(factors, "x", std::to_string(extents[axis]));
    product *= extents[axis];
  }
  return concat(names, " = ", factors, "=", product);
}

}  // namespace detail

/// The extents of a mesh of `ranks` ranks: replaces the automatic one. Throws ConfigError if there is none
/// that fits.
inline Extents resolve(Extents extents, int ranks) {
  Axes unknown;
  std::int64_t product = 1;
  for (const Axis axis : axes_as_written) {
    if (extents[axis] == automatic) {
      if (!unknown.empty()) {
        throw ConfigError(detail::concat("one extent of a mesh may be automatic, but ", name(unknown),
                                         " and ", name(axis), " are"));
      }
      unknown = axis;
    } else if (extents[axis] < 1) {
      throw ConfigError(
          detail::concat("the mesh's extent ", name(axis), " is ", extents[axis], "; it must be at least 1"));
    } else {
      product *= extents[axis];
    }
  }
  if (!unknown.empty()) {
    if (ranks % product != 0) {
      throw ConfigError(detail::concat("the mesh's extent ", name(unknown), " is automatic, but ", ranks,
                                       " ranks cannot be divided by ",
                                       detail::spell_product(extents, unknown)));
    }
    for (const Axis axis : axes_as_written) {
      if (unknown.contains(axis)) extents[axis] = static_cast<int>(ranks / product);
    }
  } else if (product != ranks) {
    throw ConfigError(
        detail::concat("the mesh and its world differ in size: ", detail::spell_product(extents), " and ",
                       ranks, " ranks are running; start ", product, " ranks or change an extent"));
  }
  return extents;
}

}  // namespace triax
