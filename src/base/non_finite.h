// A search for NaN and infinity, which is fast enough to check every value that is written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace encode {

// The index of the first value that is not finite. Returns nullopt if all values are finite.
std::optional<size_t> find_non_finite(std::span<const float> values);

}  // namespace encode
