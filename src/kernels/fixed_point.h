// Measures rows of float32 numbers and scales them to fixed-point numbers. Only the sources that
// are compiled per instruction set include this header.
#pragma once

#include "kernels/linear_finish.h"

namespace encode::kernels::ENCODE_ISA {

struct RowMeasure {
  float largest;  // the largest magnitude; NaN if an element is not finite
  float sum;      // the sum of the magnitudes
};

// Returns the float32 number with these bits, or NaN if it is not finite.
inline float magnitude_of(uint32_t bits) {
  constexpr uint32_t kInfinity = 0x7F800000;
  float magnitude = 0;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  return bits < kInfinity ? magnitude : __builtin_nanf("");
}

// Measures a row. Magnitudes are compared as integers: the bits of non-negative float32 numbers
// have the same order as the numbers, and NaN comes last.
inline RowMeasure measure(const float* row, int64_t n) {
  constexpr int64_t kParts = 4;  // partial sums, so that no addition waits for the one before it
  UintVec most[kParts] = {};
  Vec total[kParts] = {};
  const auto take = [&](int64_t part, Vec x) {
    const UintVec magnitude = bits_of(x) & 0x7FFFFFFFU;
    most[part] = max(magnitude, most[part]);
    total[part] += from_bits(magnitude);
  };
  int64_t i = 0;
  for (; i + kParts * kLanes <= n; i += kParts * kLanes) {
    for (int64_t part = 0; part < kParts; ++part) take(part, load(row + i + part * kLanes));
  }
  for (; i < n; i += kLanes) take(0, load_lanes(row + i, n - i));
  for (int64_t part = 1; part < kParts; ++part) {
    most[0] = max(most[part], most[0]);
    total[0] += total[part];
  }
  return {.largest = magnitude_of(kernels::ENCODE_ISA::largest(most[0])), .sum = sum(total[0])};
}

// Returns the largest magnitude of a row as measure() does. The function handles one register at a
// time, because GCC 12 keeps a Vec of several registers in memory.
inline float largest_magnitude(const float* row, int64_t n) {
  using Bits = Register<uint32_t>;
  constexpr int64_t kParts = 4;  // partial maxima, so that none waits for the one before it
  const auto larger = [](auto a, auto b) { return a > b ? a : b; };
  Bits most[kParts] = {};
  int64_t i = 0;
  for (; i + kParts * kWide <= n; i += kParts * kWide) {
#pragma GCC unroll 4
    for (int64_t part = 0; part < kParts; ++part)
      most[part] = larger(load_raw<Bits>(row + i + part * kWide) & 0x7FFFFFFFU, most[part]);
  }
  const Bits all = larger(larger(most[0], most[1]), larger(most[2], most[3]));
  uint32_t bits =
      join_register<kWide / 2>(all, larger, std::make_integer_sequence<int, kWide>{})[0];
  for (; i < n; ++i) bits = larger(load_raw<uint32_t>(row + i) & 0x7FFFFFFFU, bits);
  return magnitude_of(bits);
}

struct RowScale {
  float to_digits;    // x times this is the fixed-point number
  float from_digits;  // the fixed-point number times this is x; NaN for a row that is not finite
};

// The least magnitude from which a scale is computed. A row of smaller magnitudes loses precision,
// which does not matter. Without this limit the scale of such a row would overflow.
inline constexpr float kLeastScaled = 1e-29F;

// Returns the scale with which the magnitude `largest` becomes the fixed-point number `most`.
inline RowScale fixed_point_scale(float largest, float most) {
  if (largest != largest) return {.to_digits = 0, .from_digits = largest};
  if (largest < kLeastScaled) largest = kLeastScaled;
  return {.to_digits = most / largest, .from_digits = largest / most};
}

// The fixed-point number of the largest magnitude of a row in int8 quantization.
inline constexpr float kLargestInt8 = 0x7F;

}  // namespace encode::kernels::ENCODE_ISA
