// The constants of the 8-bit float format, for host code and for CUDA code. nn/fp8/fp8_rows.h
// describes the format.
#pragma once

#include <cstdint>

namespace encode {

inline constexpr float kFp8Largest = 448;  // the largest e4m3 number
// If the largest magnitude of a row is smaller than this number, as in a row of zeros, this number
// replaces the magnitude. The scale of a row is therefore never zero.
inline constexpr float kFp8LeastMagnitude = 0x1p-100F;
// in_features and out_features of a matrix product must be multiples of this number.
inline constexpr int64_t kFp8WidthStep = 16;

}  // namespace encode
