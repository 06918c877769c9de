#include "base/half.h"

#include <bit>

#include "base/non_finite.h"

namespace encode {
namespace {

constexpr uint32_t kHalfInfinity = 0x7c00;
constexpr int kDroppedBits = 13;                           // the fraction has 10 instead of 23 bits
constexpr uint32_t kExponentShift = (127 - 15) << 23;      // the difference of the two biases
constexpr uint32_t kSmallestNormal = (127 - 14) << 23;     // the bits of the float 2^-14
constexpr uint32_t kFirstInfinite = 0x477ff000;            // the bits of the float 65520
constexpr float kSubnormalUnit = 5.9604644775390625e-08F;  // 2^-24

}  // namespace

uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  uint32_t half = 0;
  if (magnitude > kInfinityBits) {
    half = kHalfInfinity | 0x200U;  // NaN
  } else if (magnitude >= kFirstInfinite) {
    half = kHalfInfinity;
  } else if (magnitude < kSmallestNormal) {
    // The subnormal halves are the multiples of 2^-24. This is also the spacing of the floats from
    // 0.5 to 1, so adding 0.5 rounds to a multiple of 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F);
  } else {
    const uint32_t odd = magnitude >> kDroppedBits & 1U;
    half = (magnitude - kExponentShift + 0xfffU + odd) >> kDroppedBits;
  }
  return static_cast<uint16_t>(sign | half);
}

float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t magnitude = bits & 0x7fffU;
  uint32_t value = 0;
  if (magnitude >= kHalfInfinity) {
    value = kInfinityBits | (magnitude & 0x3ffU) << kDroppedBits;
  } else if (magnitude < 0x400U) {
    value = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * kSubnormalUnit);
  } else {
    value = (magnitude << kDroppedBits) + kExponentShift;
  }
  return std::bit_cast<float>(sign | value);
}

void round_to_half(std::span<float> values) {
  for (float& value : values) value = half_value(half_bits(value));
}

}  // namespace encode
