// The keys that describe one stream: its input, and its own settings in place of the shared ones.
#pragma once

#include <cstdint>
#include <vector>

#include "config/schema.h"

namespace encode {

inline constexpr int64_t kMaxBatchRows = 1 << 20;
inline constexpr int64_t kMaxBatchTokens = int64_t{1} << 31;

std::vector<KeySpec> input_keys();
std::vector<KeySpec> stream_override_keys();

}  // namespace encode
