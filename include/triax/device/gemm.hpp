// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product of tensors.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <triax/core/error.hpp>
#include <triax/core/float16.hpp>
#include <triax/core/tensor.hpp>
#include <triax/device/host.hpp>
#include <triax/device/host_gemm.hpp>
#include <triax/device/matrix.hpp>
#include <triax/device/staged_gemm.hpp>
#include <triax/kernels/operands.hpp>

namespace triax {

/// A tensor that enters a product transposed.
template <class T, class Device>
struct Transposed {
  Tensor<T, Device> tensor;
};
template <class T, class Device>
constexpr Transposed<T, Device> transposed(Tensor<T, Device> tensor) {
  return {tensor};
}

/// The tag that makes a product add to its result: gemm(device, a, b, c, accumulate).
struct AccumulateTag {};
inline constexpr AccumulateTag accumulate{};

namespace detail {

// The matrix {rows, columns} that a product sees in a tensor.
template <class T, class Device>
Matrix<T> matrix(const Tensor<T, Device>& t) {
  return {t.data(), t.rows(), t.columns(), t.columns(), false};
}
template <class T, class Device>
Matrix<T> matrix(const Transposed<T, Device>& t) {
  return matrix(t.tensor).transpose();
}
template <class T>
Matrix<const T> read_only(Matrix<T> m) {
  return m;
}

template <class O, class Device>
inline constexpr bool is_operand = false;
template <class T, class Device>
inline constexpr bool is_operand<Tensor<T, Device>, Device> = true;
template <class T, class Device>
inline constexpr bool is_operand<Transposed<T, Device>, Device> = true;

template <class A, class B, class C>
void require_product(const Matrix<A>& a, const Matrix<B>& b, const Matrix<C>& c) {
  const auto text = [](const auto& m) {
    return "[" + std::to_string(m.rows) + ", " + std::to_string(m.columns) + "]" +
           (m.transposed ? " (transposed)" : "");
  };
  if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows)
    throw ShapeError("gemm: a " + text(a) + " times b " + text(b) + " is no matrix c " + text(c) +
                     "; wanted are a [m, k], b [k, n] and c [m, n]");
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (a.rows > most || a.columns > most || b.columns > most)
    throw ShapeError("gemm: a " + text(a) + " times b " + text(b) + " exceeds 2147483647 in one extent");
}

template <ComputeType A, ComputeType B, ComputeType C>
struct GemmKernel {
  Matrix<const A> a;
  Matrix<const B> b;
  Matrix<C> c;
  bool accumulate;
  std::byte* workspace;

  void operator()() const {
    if constexpr (std::same_as<A, B> && std::same_as<A, C> && sizeof(A) >= sizeof(float)) {
      host_gemm(a, b, c, accumulate);
    } else {
      staged_gemm(a, b, c, accumulate, reinterpret_cast<float*>(workspace));
    }
  }
};

template <class Device, class A, class B, class C>
void launch_gemm(Device& device, Matrix<const A> a, Matrix<const B> b, Matrix<C> c, bool accumulate) {
  constexpr bool doubles = std::same_as<A, double> || std::same_as<B, double> || std::same_as<C, double>;
  static_assert(!doubles || (std::same_as<A, B> && std::same_as<A, C>),
                "gemm multiplies double with double only");
  if (!c.data) return;
  require_product(a, b, c);
  const double m = static_cast<double>(c.rows);
  const double n = static_cast<double>(c.columns);
  const double k = static_cast<double>(a.columns);
  const double bytes = m * k * sizeof(A) + k * n * sizeof(B) + m * n * sizeof(C) * (accumulate ? 2 : 1);
  std::byte* workspace = nullptr;
  if constexpr (std::same_as<typename Device::target, Host>) {
    const std::size_t size = staging_bytes<A, B, C>(c.rows, c.columns, a.columns);
    if (size > 0) workspace = device.workspace(size);
  }
  device.launch(GemmKernel<A, B, C>{a, b, c, accumulate, workspace}, {2 * m * n * k, bytes, true});
}

}  // namespace detail

/// What gemm multiplies: a tensor of `Device`, or transposed(tensor).
template <class O, class Device>
concept ProductOperand = detail::is_operand<O, Device>;

/// c = a b, where a and b are tensors or transposed tensors, each seen as the matrix {rows, columns}.
///
/// The three element types are independent: sums are held in float (in double for double), and 16-bit
/// operands are converted block by block in the device's workspace. A null c, the gradient of a frozen
/// parameter, costs nothing. Throws ShapeError unless a is [m, k], b [k, n] and c [m, n].
template <class Device, ProductOperand<Device> A, ProductOperand<Device> B, ComputeType C>
void gemm(Device& device, const A& a, const B& b, Tensor<C, Device> c) {
  using detail::matrix;
  detail::launch_gemm(device, detail::read_only(matrix(a)), detail::read_only(matrix(b)), matrix(c), false);
}
/// c += a b
template <class Device, ProductOperand<Device> A, ProductOperand<Device> B, ComputeType C>
void gemm(Device& device, const A& a, const B& b, Tensor<C, Device> c, AccumulateTag) {
  using detail::matrix;
  detail::launch_gemm(device, detail::read_only(matrix(a)), detail::read_only(matrix(b)), matrix(c), true);
}

}  // namespace triax
