// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The product of strided matrices in host memory, by whichever library the program was built with.

#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <triax/device/builtin_gemm.hpp>
#include <triax/device/matrix.hpp>

namespace triax {

/// c = a b, or c += a b if `accumulate`. No extent is zero; c is not transposed; one thread computes.
template <class T>
using GemmFunction = void (*)(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate);

/// Who multiplies matrices on the host. <triax/device/onednn.hpp> and <triax/device/blas.hpp> replace entries
/// before main begins; a program includes at most one of them, in any of its translation units.
struct GemmTable {
  const char* name;
  GemmFunction<float> single_precision;
  GemmFunction<double> double_precision;
};
inline constinit GemmTable gemm_table{"built-in", &detail::BuiltinGemm<float>::multiply,
                                      &detail::BuiltinGemm<double>::multiply};

/// "built-in", "oneDNN", or "OpenBLAS for SkylakeX" and the like.
inline const char* gemm_name() { return gemm_table.name; }

/// c = a b, or c += a b if `accumulate`, for float or double; c is not transposed. For use inside kernels of
/// the host: sizes are not checked.
///
/// With the built-in product, rows of c are the same bits however the rows are cut. oneDNN was seen to do the
/// same except for fewer than 16 rows times a transposed b, OpenBLAS for many shapes but not on every
/// processor.
template <class T>
void host_gemm(std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, Matrix<T> c,
               bool accumulate) {
  if (c.rows == 0 || c.columns == 0) return;
  if (a.columns == 0) {
    for (std::int64_t i = 0; !accumulate && i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.columns; ++j) *c.at(i, j) = T{};
  } else if constexpr (std::same_as<T, double>) {
    gemm_table.double_precision(a, b, c, accumulate);
  } else {
    gemm_table.single_precision(a, b, c, accumulate);
  }
}

}  // namespace triax
