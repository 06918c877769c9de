#pragma once

#include <cstdint>

namespace encode {

// Returns the least multiple of `step` (> 0) that is not below `n` (>= 0).
constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

}  // namespace encode
