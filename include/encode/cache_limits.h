// The limit of the embedding cache that the config checks and on which the cache relies.
#pragma once

#include <cstdint>

namespace encode {

// The least EmbeddingCacheOptions::disk_bytes. A transaction needs room in the file beside its
// content, and a smaller file would not have that room.
inline constexpr int64_t kLeastDiskBytes = 16'000'000;

}  // namespace encode
