// 8-bit floats as rows of them are made, on the host and on a GPU: nn/fp8/rows.h.
#pragma once

#include <cstdint>

namespace encode {

inline constexpr float kFp8Largest = 448;  // of e4m3
// The least value that a row's largest magnitude is taken for, as in a row of zeros.
inline constexpr float kFp8LeastMagnitude = 0x1p-100F;
// Both widths of a product must be multiples of this.
inline constexpr int64_t kFp8WidthStep = 16;

}  // namespace encode
