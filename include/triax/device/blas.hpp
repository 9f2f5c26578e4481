// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Products by a CBLAS, for programs that link triax::blas. Including this header is all that is needed.

#pragma once

#include <cstdint>
#include <string>

#include <cblas.h>

#include <triax/device/host_gemm.hpp>

// OpenBLAS threads its products unless told otherwise, and can name the processor that it believes to run on:
// one that it does not know costs a large factor. Another CBLAS has no such functions.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);
extern "C" [[gnu::weak]] char* openblas_get_corename(void);

namespace triax::detail {

inline CBLAS_TRANSPOSE blas_transposition(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
inline int blas_int(std::int64_t extent) { return static_cast<int>(extent); }

inline void blas_gemm(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool accumulate) {
  cblas_sgemm(CblasRowMajor, blas_transposition(a.transposed), blas_transposition(b.transposed),
              blas_int(c.rows), blas_int(c.columns), blas_int(a.columns), 1.0F, a.data, blas_int(a.stride),
              b.data, blas_int(b.stride), accumulate ? 1.0F : 0.0F, c.data, blas_int(c.stride));
}
inline void blas_gemm(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool accumulate) {
  cblas_dgemm(CblasRowMajor, blas_transposition(a.transposed), blas_transposition(b.transposed),
              blas_int(c.rows), blas_int(c.columns), blas_int(a.columns), 1.0, a.data, blas_int(a.stride),
              b.data, blas_int(b.stride), accumulate ? 1.0 : 0.0, c.data, blas_int(c.stride));
}

inline bool use_blas() {
  static std::string name = "BLAS";
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  if (openblas_get_corename) name = std::string("OpenBLAS for ") + openblas_get_corename();
  gemm_table = {name.c_str(), &blas_gemm, &blas_gemm};
  return true;
}
inline const bool blas_in_use = use_blas();

}  // namespace triax::detail
