// The limits of the embedding cache that the config checks and the cache relies on.
#pragma once

#include <cstdint>

namespace encode {

// The least EmbeddingCacheOptions::disk_bytes. A transaction needs room in the file beside its
// content, and a smaller file would not have that room.
inline constexpr int64_t kLeastDiskBytes = 16'000'000;

}  // namespace encode
