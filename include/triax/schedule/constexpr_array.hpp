// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// An array whose length is known at run time and which constant evaluation may use as well.

#pragma once

#include <utility>

namespace triax::detail {

/// A fixed number of zero-initialised elements, read as `array.data[i]`.
///
/// The members are public because compilers bound the steps of a constant evaluation: reading a member costs
/// none, where every call of an accessor (and more so of std::vector's) costs several.
template <class T>
struct ConstexprArray {
  T* data = nullptr;
  int size = 0;

  constexpr ConstexprArray() = default;
  constexpr explicit ConstexprArray(int count) : data(new T[static_cast<unsigned>(count)]{}), size(count) {}
  constexpr ConstexprArray(const ConstexprArray& other) : ConstexprArray(other.size) {
    for (int i = 0; i < size; ++i) data[i] = other.data[i];
  }
  constexpr ConstexprArray(ConstexprArray&& other) noexcept { swap(other); }
  constexpr ConstexprArray& operator=(ConstexprArray other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~ConstexprArray() { delete[] data; }

 private:
  constexpr void swap(ConstexprArray& other) noexcept {
    std::swap(data, other.data);
    std::swap(size, other.size);
  }
};

}  // namespace triax::detail
