// The search for NaN and infinity among float32 values, fast enough for every value that is
// written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace encode {

// The offset of the first value that is not finite; nullopt when all values are finite.
std::optional<size_t> find_non_finite(std::span<const float> values);

}  // namespace encode
