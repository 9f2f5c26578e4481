// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The exponential function of vectors.

#pragma once

#include <cmath>

#include <triax/kernels/vector.hpp>

#if defined(__FAST_MATH__)
#error "Triax must be compiled without -ffast-math (or -Ofast), which breaks its exponential and hides NaNs"
#endif

namespace triax::simd {

/// e^x per lane with a relative error below 2e-7. Below -87.3 it is 0, above 88.3 it stays at e^88.3; a NaN
/// stays one.
///
/// x = n ln 2 + r with |r| <= ln(2) / 2; e^r is the polynomial of Moshier's Cephes library (expf.c), and n is
/// found by adding 1.5 * 2^23, which rounds to an integer.
[[gnu::always_inline]] inline Vector<float> exp(Vector<float> x) {
  using V = Vector<float>;
  const V low = broadcast(-87.3F);
  const V bounded = minimum(broadcast(88.3F), maximum(low, x));
  // The low bits of `shifted` hold n + 127: the exponent field of 2^n.
  const V magic = broadcast(0x1.8p23F + 127.0F);
  const V shifted = multiply_add(bounded, broadcast(1.44269504F), magic);
  const V n = shifted - magic;
  V r = multiply_add(n, broadcast(-0.693359375F), bounded);
  r = multiply_add(n, broadcast(2.12194440e-4F), r);
  V p = broadcast(1.9875691500e-4F);
  p = multiply_add(p, r, broadcast(1.3981999507e-3F));
  p = multiply_add(p, r, broadcast(8.3334519073e-3F));
  p = multiply_add(p, r, broadcast(4.1665795894e-2F));
  p = multiply_add(p, r, broadcast(1.6666665459e-1F));
  p = multiply_add(p, r, broadcast(5.0000001201e-1F));
  p = multiply_add(p, r * r, r) + 1.0F;
  const V result = p * detail::number(detail::bits(shifted) << 23);
  return x < low ? V{} : result;
}
/// The same for double, by the standard library: for numeric checks, not for speed.
inline Vector<double> exp(Vector<double> x) {
  for (int i = 0; i < lanes<double>; ++i) x[i] = std::exp(x[i]);
  return x;
}

}  // namespace triax::simd
