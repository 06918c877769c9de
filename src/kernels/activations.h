// Activation functions on sixteen lanes. Included by the per-instruction-set sources alone.
#pragma once

#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

// exp(x) by reduction to [-ln 2 / 2, ln 2 / 2] and a minimax polynomial (Cephes expf), for x in
// [-87, 88]; the ends hold beyond them, and NaN stays NaN. Two units in the last place.
inline Vec exp(Vec x) {
  const Vec rounding_bias = splat(0x1.8p23F);  // adding it rounds to an integer
  x = min(splat(88.0F), max(splat(-87.0F), x));
  const Vec n = (x * 1.44269504F + rounding_bias) - rounding_bias;
  const Vec r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  Vec p = splat(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const Vec fraction = p * (r * r) + r + 1.0F;
  return times_power_of_two(fraction, n);
}

// 2^x to 2.7e-6, for x in [-126, 127]; below, the end holds, and NaN stays NaN. Coefficients:
// scripts/generate/exp2.py.
inline Vec short_exp2(Vec x) {
  const Vec rounding_bias = splat(0x1.8p23F);
  x = max(splat(-126.0F), x);
  const Vec n = (x + rounding_bias) - rounding_bias;
  const Vec r = x - n;
  Vec p = splat(0x1.3997d6p-7F);
  p = p * r + 0x1.ca1442p-5F;
  p = p * r + 0x1.ec06dap-3F;
  p = p * r + 0x1.62e0dcp-1F;
  p = p * r + 0x1.ffffe8p-1F;
  return times_power_of_two(p, n);
}

// erf(z) = z P(z^2) / Q(z^2) below 3.95, where it is 1 to float32's precision. P and Q minimize the
// largest absolute error (1.8e-8 before rounding; 3.2e-7 with it); scripts/generate/erf.py.
inline Vec erf(Vec z) {
  const Vec s = z * z;
  Vec p = splat(0x1.0e02e8p-19F);
  p = p * s + 0x1.2d9264p-12F;
  p = p * s + 0x1.00ba06p-8F;
  p = p * s + 0x1.b3df6ap-5F;
  p = p * s + 0x1.8d62d0p-3F;
  p = p * s + 0x1.20dd72p+0F;
  Vec q = splat(0x1.3d6c36p-15F);
  q = q * s + 0x1.3a1a42p-10F;
  q = q * s + 0x1.f46442p-7F;
  q = q * s + 0x1.d975e2p-4F;
  q = q * s + 0x1.02b592p-1F;
  q = q * s + 1.0F;
  const Vec inside = fast_quotient(z * p, q);
  const Vec outside = z > 0.0F ? splat(1.0F) : splat(-1.0F);
  return s < splat(3.95F * 3.95F) ? inside : outside;
}

// x Phi(x), exact (Hendrycks & Gimpel 2016).
inline Vec gelu(Vec x) { return 0.5F * x * (1.0F + erf(x * 0.707106781F)); }

// NaN stays NaN.
inline Vec relu(Vec x) { return x < 0.0F ? Vec{} : x; }

// x / (1 + exp(-x)) (Elfwing et al. 2017).
inline Vec silu(Vec x) { return x / (1.0F + exp(-x)); }

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), written with the logistic function.
inline Vec gelu_tanh(Vec x) {
  const Vec u = 0.797884561F * (x + 0.044715F * x * x * x);
  return x / (1.0F + exp(-2.0F * u));
}

}  // namespace encode::kernels::ENCODE_ISA
