#include "nn/layers/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

namespace encode {
namespace {

// Returns base^(2i / head_dim) for each pair i of elements, the reciprocals of the frequencies.
at::Tensor periods(const at::Tensor& base, int64_t head_dim) {
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, at::kFloat).div(static_cast<double>(head_dim));
  return at::pow(base, exponents);
}

at::Tensor default_periods(const RopeParameters& rope) {
  return periods(at::scalar_tensor(rope.theta, at::kFloat), rope.head_dim);
}

at::Tensor dynamic_frequencies(const RopeParameters& rope, int64_t length) {
  const auto dim = static_cast<double>(rope.head_dim);
  const at::Tensor base = at::scalar_tensor(length, at::kFloat)
                              .mul(rope.factor)
                              .div(rope.max_position_embeddings)
                              .sub(rope.factor - 1)
                              .pow(dim / (dim - 2))
                              .mul(rope.theta);
  return at::reciprocal(periods(base, rope.head_dim));
}

// Returns the frequencies of kNtk (https://kexue.fm/archives/9706). The base is multiplied by the
// factor, and then all frequencies are divided by factor^(2 / head_dim). The lowest frequency is
// therefore the original one divided by the factor.
at::Tensor ntk_frequencies(const RopeParameters& rope) {
  const at::Tensor base = at::scalar_tensor(rope.theta * rope.factor, at::kFloat);
  return at::reciprocal(periods(base, rope.head_dim))
      .div(std::pow(rope.factor, 2 / static_cast<double>(rope.head_dim)));
}

// Returns the dimension of a head that rotates `rotations` times within the trained length. The
// result can be a fraction.
double turning_dimension(const RopeParameters& rope, double rotations) {
  const auto length = static_cast<double>(rope.original_max_position_embeddings);
  return static_cast<double>(rope.head_dim) *
         std::log(length / (rotations * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
}

at::Tensor yarn_frequencies(const RopeParameters& rope) {
  double low = turning_dimension(rope, rope.beta_fast);
  double high = turning_dimension(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.head_dim - 1));
  if (low == high) high += 0.001;  // avoids a division by zero, as in Hugging Face Transformers
  const at::Tensor interpolated =
      at::arange(rope.head_dim / 2, at::kFloat).sub(low).div(high - low).clamp(0, 1);
  const at::Tensor kept = interpolated.neg().add(1);
  const at::Tensor period = default_periods(rope);
  return at::reciprocal(period.mul(rope.factor))
      .mul(kept.neg().add(1))
      .add(at::reciprocal(period).mul(kept));
}

at::Tensor llama3_frequencies(const RopeParameters& rope) {
  const at::Tensor frequency = at::reciprocal(default_periods(rope));
  const at::Tensor wavelength = at::reciprocal(frequency).mul(2 * std::numbers::pi);
  const auto length = static_cast<double>(rope.original_max_position_embeddings);
  const double longest = length / rope.low_freq_factor;
  const double shortest = length / rope.high_freq_factor;
  const at::Tensor stretched = frequency.div(rope.factor);
  const at::Tensor smooth = at::full_like(wavelength, length)
                                .div(wavelength)
                                .sub(rope.low_freq_factor)
                                .div(rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor between =
      smooth.neg().add(1).mul(frequency).div(rope.factor).add(smooth.mul(frequency));
  return at::where(wavelength.gt(longest), stretched,
                   at::where(wavelength.lt(shortest), frequency, between));
}

}  // namespace

at::Tensor rope_frequencies(const RopeParameters& rope, int64_t length) {
  if (rope.stored.defined()) return rope.stored;
  switch (rope.type) {
    case RopeType::kLinear:
      return at::reciprocal(default_periods(rope)).div(rope.factor);
    case RopeType::kDynamic:
      if (length > rope.max_position_embeddings) return dynamic_frequencies(rope, length);
      break;
    case RopeType::kNtk:
      return ntk_frequencies(rope);
    case RopeType::kYarn:
      return yarn_frequencies(rope);
    case RopeType::kLlama3:
      return llama3_frequencies(rope);
    case RopeType::kDefault:
      break;
  }
  return at::reciprocal(default_periods(rope));
}

}  // namespace encode
