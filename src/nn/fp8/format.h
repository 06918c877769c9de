// The constants of 8-bit floats for the host and for CUDA code. nn/fp8/rows.h describes the format.
#pragma once

#include <cstdint>

namespace encode {

inline constexpr float kFp8Largest = 448;  // the largest e4m3 number
// If the largest magnitude of a row is smaller than this, as in a row of zeros, this number
// replaces it. So a scale is never zero.
inline constexpr float kFp8LeastMagnitude = 0x1p-100F;
// in_features and out_features of a product must be multiples of this.
inline constexpr int64_t kFp8WidthStep = 16;

}  // namespace encode
