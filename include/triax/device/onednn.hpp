// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Single-precision products by oneDNN, for programs that link triax::onednn. Including this header is all
// that is needed. oneDNN has no product of doubles; those stay built-in.

#pragma once

#include <cstdint>

#include <oneapi/dnnl/dnnl.h>

#include <triax/device/host_gemm.hpp>

namespace triax::detail {

// omp_set_num_threads, under a name of our own because the declarations in different <omp.h> disagree; null
// if oneDNN does not run on OpenMP.
[[gnu::weak]] void set_openmp_threads(int) __asm__("omp_set_num_threads");

inline void onednn_gemm(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate) {
  // One thread per rank. OpenMP holds the number per thread, so each rank's thread sets it at its first
  // product.
  static thread_local const bool single_threaded =
      (set_openmp_threads ? set_openmp_threads(1) : void(), true);
  static_cast<void>(single_threaded);
  dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', c.rows, c.columns, a.columns, 1.0F, a.data,
             a.stride, b.data, b.stride, accumulate ? 1.0F : 0.0F, c.data, c.stride);
}

inline bool use_onednn() {
  gemm_table.name = "oneDNN";
  gemm_table.single_precision = &onednn_gemm;
  return true;
}
inline const bool onednn_in_use = use_onednn();

}  // namespace triax::detail
