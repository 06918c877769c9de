// A search for NaN and infinity, which is fast enough to check every value that encode writes. Any
// thread may call it. It throws no Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace encode {

// The bits of the float infinity. The bits of NaN, without the sign, are greater.
inline constexpr uint32_t kInfinityBits = 0x7f800000;

// Returns the index of the first value that is not finite, or nullopt if all values are finite.
std::optional<size_t> find_non_finite(std::span<const float> values);

}  // namespace encode
