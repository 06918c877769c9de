// Activation functions on sixteen lanes. Only the sources that are compiled per instruction set
// include this header. Polynomials are evaluated by Horner's rule, highest power first.
#pragma once

#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

// Returns exp(x) for x in [-87, 88], with an error of at most two units in the last place. An x
// outside this range counts as the nearer end of the range. NaN stays NaN. The method is expf of
// the Cephes library: x = n ln 2 + r with r in [-ln 2 / 2, ln 2 / 2], and a minimax polynomial
// gives exp(r).
inline Vec exp(Vec x) {
  const Vec rounding_bias = splat(0x1.8p23F);  // a sum with this number is rounded to an integer
  x = min(splat(88.0F), max(splat(-87.0F), x));
  const Vec n = (x * 1.44269504F + rounding_bias) - rounding_bias;
  // The two constants add up to ln 2. The first one has few bits, so that n times it is exact.
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

// Returns 2^x for x in [-126, 127], with a relative error of at most 2.7e-6. An x below -126 counts
// as -126. NaN stays NaN. scripts/generate/fit.py computes the coefficients.
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

// Returns erf(z) = z P(z^2) / Q(z^2) for |z| < `limit`, and 1 or -1 beyond. `p` and `q` are the
// coefficients of P and Q, highest powers first. scripts/generate/fit.py computes them so that the
// largest absolute error is as small as possible.
template <int64_t terms>
inline Vec erf_ratio(Vec z, const float (&p)[terms], const float (&q)[terms], float limit) {
  const Vec s = z * z;
  Vec above = splat(p[0]);
  Vec below = splat(q[0]);
#pragma GCC unroll 8
  for (int64_t i = 1; i < terms; ++i) {
    above = above * s + p[i];
    below = below * s + q[i];
  }
  const Vec inside = fast_quotient(z * above, below);
  const Vec outside = choose_less(Vec{}, z, splat(1.0F), splat(-1.0F));
  return choose_less(s, splat(limit * limit), inside, outside);
}

// Returns erf(z) with an absolute error of at most 3.2e-7.
inline Vec erf(Vec z) {
  constexpr float kP[] = {0x1.0e02e8p-19F, 0x1.2d9264p-12F, 0x1.00ba06p-8F,
                          0x1.b3df6ap-5F,  0x1.8d62d0p-3F,  0x1.20dd72p+0F};
  constexpr float kQ[] = {0x1.3d6c36p-15F, 0x1.3a1a42p-10F, 0x1.f46442p-7F,
                          0x1.d975e2p-4F,  0x1.02b592p-1F,  1.0F};
  return erf_ratio(z, kP, kQ, 3.95F);
}

// Returns erf(z) with an absolute error of at most 3.1e-6.
inline Vec short_erf(Vec z) {
  constexpr float kP[] = {0x1.85d3dep-11F, 0x1.614942p-5F, 0x1.3d8af4p-3F, 0x1.20dce2p+0F};
  constexpr float kQ[] = {0x1.2f0272p-7F, 0x1.855d38p-4F, 0x1.e207eep-2F, 1.0F};
  return erf_ratio(z, kP, kQ, 3.3F);
}

// Returns GELU in its exact form, x Phi(x) with the normal distribution function Phi (Hendrycks &
// Gimpel 2016).
inline Vec gelu(Vec x) { return 0.5F * x * (1.0F + erf(x * 0.707106781F)); }
// Returns GELU with short_erf(), for results that are rounded to bfloat16 or come from int8 matrix
// products.
inline Vec short_gelu(Vec x) { return 0.5F * x * (1.0F + short_erf(x * 0.707106781F)); }

// Returns max(x, 0). NaN stays NaN.
inline Vec relu(Vec x) { return choose_less(x, Vec{}, Vec{}, x); }

// Returns SiLU, x / (1 + exp(-x)) (Elfwing et al. 2017).
inline Vec silu(Vec x) { return x / (1.0F + exp(-x)); }

// Returns the tanh form of GELU, x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3). It
// is computed as x / (1 + exp(-2 u)), which is the same function.
inline Vec gelu_tanh(Vec x) {
  const Vec u = 0.797884561F * (x + 0.044715F * x * x * x);
  return x / (1.0F + exp(-2.0F * u));
}

}  // namespace encode::kernels::ENCODE_ISA
