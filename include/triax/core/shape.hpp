// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The extents of a tensor.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include <triax/core/error.hpp>

namespace triax {

/// Up to four extents, row-major. A rank-0 shape has no elements: it stands for "no tensor".
class Shape {
 public:
  static constexpr int max_rank = 4;

  constexpr Shape() = default;
  /// Throws ShapeError for more than four extents or a negative one.
  constexpr Shape(std::initializer_list<std::int64_t> extents) {
    if (extents.size() > max_rank) throw ShapeError("a Shape has at most 4 extents");
    for (const std::int64_t extent : extents) {
      if (extent < 0)
        throw ShapeError("a Shape has no negative extent, but one is " + std::to_string(extent));
      extents_[rank_++] = extent;
    }
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int dimension) const { return extents_[dimension]; }

  /// The number of elements.
  constexpr std::int64_t size() const {
    std::int64_t product = rank_ == 0 ? 0 : 1;
    for (int i = 0; i < rank_; ++i) product *= extents_[i];
    return product;
  }
  /// The last extent: the length of a row, in a stream the number of features.
  constexpr std::int64_t columns() const { return rank_ == 0 ? 0 : extents_[rank_ - 1]; }
  /// The product of all extents but the last: in a stream the number of tokens.
  constexpr std::int64_t rows() const {
    std::int64_t product = rank_ == 0 ? 0 : 1;
    for (int i = 0; i + 1 < rank_; ++i) product *= extents_[i];
    return product;
  }
  /// The same shape with another last extent.
  constexpr Shape with_columns(std::int64_t columns) const { return with(rank_ - 1, columns); }
  /// The same shape with another extent in `dimension`.
  constexpr Shape with(int dimension, std::int64_t extent) const {
    Shape result = *this;
    result.extents_[dimension] = extent;
    return result;
  }

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::int64_t extents_[max_rank]{};
  int rank_ = 0;
};

/// "[2, 3]", for messages.
inline std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace triax
