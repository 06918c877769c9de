// A search for NaN and infinity. It is fast enough to check every value that encode writes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace encode {

// Returns the index of the first value that is not finite, or nullopt if all values are finite.
std::optional<size_t> find_non_finite(std::span<const float> values);

}  // namespace encode
