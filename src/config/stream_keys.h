// The keys that describe one stream.
#pragma once

#include <cstdint>
#include <vector>

#include "config/schema.h"

namespace encode {

inline constexpr int64_t kMaxBatchRows = 1 << 20;
inline constexpr int64_t kMaxBatchTokens = int64_t{1} << 31;

std::vector<KeySpec> input_keys();            // the keys of the stream's input
std::vector<KeySpec> stream_override_keys();  // the keys that override `semantic` for the stream

}  // namespace encode
