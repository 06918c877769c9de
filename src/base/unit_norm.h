// When the norm of a vector counts as 1.
#pragma once

namespace encode {

// The largest difference between 1 and the norm of a vector that was normalized. Float32 keeps the
// norm far better than this.
inline constexpr double kUnitNormTolerance = 1e-3;

}  // namespace encode
