// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A typed view of device memory.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <triax/core/shape.hpp>

namespace triax {

/// A contiguous row-major view of elements on `Device`; the memory belongs to an arena or to the caller.
///
/// A null tensor (false, no elements) stands for "nothing here": the gradient of a frozen parameter, the
/// stream of a stage that holds none. Kernels that accumulate into a null tensor do nothing.
template <class T, class Device>
class Tensor {
 public:
  using value_type = std::remove_const_t<T>;

  constexpr Tensor() = default;
  constexpr Tensor(T* data, const Shape& shape) : data_(data), shape_(shape) {}

  constexpr T* data() const { return data_; }
  constexpr const Shape& shape() const { return shape_; }
  constexpr std::int64_t size() const { return shape_.size(); }
  constexpr std::int64_t rows() const { return shape_.rows(); }
  constexpr std::int64_t columns() const { return shape_.columns(); }
  /// The bytes of the elements; 0 for a null tensor.
  constexpr std::size_t bytes() const { return data_ ? static_cast<std::size_t>(size()) * sizeof(T) : 0; }
  constexpr std::span<T> span() const { return {data_, data_ ? static_cast<std::size_t>(size()) : 0}; }
  constexpr explicit operator bool() const { return data_ != nullptr; }

  /// Element `i` in row-major order. Exists only where the device's memory can be read directly: a loop in a
  /// layer belongs into a launch, so that the layer runs on every device.
  constexpr T& operator[](std::int64_t i) const
    requires(Device::directly_readable)
  {
    return data_[i];
  }

  /// The same elements under another shape of equal size. Throws ShapeError.
  Tensor reshaped(const Shape& shape) const {
    if (shape.size() != size())
      throw ShapeError("cannot view a tensor of shape " + to_string(shape_) + " as " + to_string(shape));
    return {data_, shape};
  }
  /// Rows [first, first + count) of the outermost dimension.
  constexpr Tensor slice(std::int64_t first, std::int64_t count) const {
    const std::int64_t stride = shape_[0] == 0 ? 0 : size() / shape_[0];
    return {data_ + first * stride, shape_.with(0, count)};
  }

  template <std::same_as<const T> U>
    requires(!std::is_const_v<T>)
  constexpr operator Tensor<U, Device>() const {
    return {data_, shape_};
  }

 private:
  T* data_ = nullptr;
  Shape shape_{};
};

}  // namespace triax
