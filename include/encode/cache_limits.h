// The limits of the embedding cache that both the config and the cache know.
#pragma once

#include <cstdint>

namespace encode {

// The least EmbeddingCacheOptions::disk_bytes. With less there would be no room for a change beside
// the content.
inline constexpr int64_t kLeastDiskBytes = 16'000'000;

}  // namespace encode
