// Constants: the limits of the embedding cache that both the config and the cache know.
#pragma once

#include <cstdint>

namespace encode {

// The least EmbeddingCacheOptions::disk_bytes. A change needs room in addition to the content, and
// a smaller file would not have it.
inline constexpr int64_t kLeastDiskBytes = 16'000'000;

}  // namespace encode
