#include "base/non_finite.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace encode {
namespace {

uint32_t magnitude_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffU; }

}  // namespace

std::optional<size_t> find_non_finite(std::span<const float> values) {
  // Keeps a separate maximum for each lane, because compilers turn a loop over a fixed number of
  // lanes into vector instructions.
  constexpr size_t kLanes = 16;
  std::array<uint32_t, kLanes> largest = {};
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      largest[lane] = std::max(largest[lane], magnitude_bits(values[i + lane]));
    }
  }
  uint32_t maximum = *std::max_element(largest.begin(), largest.end());
  for (size_t i = whole; i < values.size(); ++i)
    maximum = std::max(maximum, magnitude_bits(values[i]));
  if (maximum < kInfinityBits) return std::nullopt;
  const auto found = std::find_if(values.begin(), values.end(), [](float value) {
    return magnitude_bits(value) >= kInfinityBits;
  });
  return static_cast<size_t>(found - values.begin());
}

}  // namespace encode
