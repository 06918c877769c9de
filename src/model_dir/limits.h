// What a model directory may hold at most. Files are not trusted: every limit is checked before
// memory is taken.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace encode {

inline constexpr int64_t kMaxHeaderBytes =
    16 << 20;  // of a safetensors file; real ones stay below 1 MiB
inline constexpr int64_t kMaxMetadataBytes = 1 << 20;  // keys and values of __metadata__
inline constexpr int64_t kMaxTensors = 100'000;
inline constexpr int64_t kMaxTensorNameBytes = 512;
inline constexpr int64_t kMaxRank = 8;
inline constexpr int64_t kMaxDim = int64_t{1} << 40;
inline constexpr int64_t kMaxShards = 1024;

inline constexpr int64_t kMaxLayers = 256;
inline constexpr int64_t kMaxHiddenSize = 16'384;
inline constexpr int64_t kMaxEmbeddingDim = 6 * kMaxHiddenSize;  // all poolings side by side
inline constexpr int64_t kMaxVocabSize = 4'000'000;
inline constexpr int64_t kMaxPositions = 1 << 20;          // 1,048,576
inline constexpr int64_t kMaxModules = 16;
inline constexpr int64_t kMaxPrompts = 1024;
inline constexpr int64_t kMaxFolderEntries = 10'000;

inline constexpr JsonLimits kConfigJson = {.max_bytes = 1 << 20, .max_depth = 32};
inline constexpr JsonLimits kIndexJson = {.max_bytes = 16 << 20, .max_depth = 8};
inline constexpr JsonLimits kTokenizerJson = {.max_bytes = 64 << 20, .max_depth = 64};

}  // namespace encode
