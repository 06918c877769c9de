// The limits of what a model directory may contain: constants. The files are not trusted, so every
// limit is checked before memory is allocated.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/pooling_modes.h"
#include "base/vocabulary_limit.h"

namespace encode {

// The header of a safetensors file. Real headers are smaller than 1 MiB.
inline constexpr int64_t kMaxHeaderBytes = 16 << 20;
inline constexpr int64_t kMaxMetadataBytes = 1 << 20;  // keys and values of __metadata__
inline constexpr int64_t kMaxTensors = 100'000;
inline constexpr int64_t kMaxTensorNameBytes = 512;
inline constexpr int64_t kMaxRank = 8;
inline constexpr int64_t kMaxDim = int64_t{1} << 40;
inline constexpr int64_t kMaxShards = 1024;

// A file of torch.save(): a zip archive with a pickle. Real pickles have less than 1 MiB.
inline constexpr int64_t kMaxZipDirectoryBytes = 16 << 20;
inline constexpr int64_t kMaxZipEntries = kMaxTensors + 100;  // a storage for each tensor, and more
inline constexpr int64_t kMaxZipNameBytes = 512;
inline constexpr int64_t kMaxPickleBytes = 16 << 20;
inline constexpr int64_t kMaxPickleStack = 1 << 18;    // values, at any time
inline constexpr int64_t kMaxPickleObjects = 1 << 19;  // tuples, lists, dicts, tensors, storages
inline constexpr int64_t kMaxPickleItems = 1 << 21;    // values in all tuples, lists and dicts
inline constexpr int64_t kMaxPickleMarks = 1024;       // marks on the stack at any time

// Fields of config.json. model_dir checks the fields that every architecture has. models checks the
// other fields. The limit of vocab_size is in base/vocabulary_limit.h.
inline constexpr int64_t kMaxLayers = 256;
inline constexpr int64_t kMaxHiddenSize = 16'384;
inline constexpr int64_t kMaxIntermediateSize = 1 << 20;  // 1,048,576
inline constexpr int64_t kMaxHeads = 1024;
inline constexpr int64_t kMaxHeadDim = 512;
inline constexpr int64_t kMaxTokenTypes = 1024;            // type_vocab_size
inline constexpr int64_t kMaxPositions = 1 << 20;          // 1,048,576
inline constexpr int64_t kMaxWindowTokens = 1 << 24;       // a window may be longer than a text
inline constexpr int64_t kMaxRelativePositions = 1 << 16;  // rows of a table of relative positions
inline constexpr int64_t kMaxExperts = 1024;
inline constexpr int64_t kMaxConvTaps = 64;  // conv_L_cache
inline constexpr double kMinNormEps = 1e-30;
inline constexpr double kMaxNormEps = 1;
inline constexpr double kMaxRopeTheta = 1e12;
inline constexpr double kMinScaling = 1e-6;  // factors that scale positions or scores
inline constexpr double kMaxScaling = 1e6;

inline constexpr int64_t kMaxEmbeddingDim =
    static_cast<int64_t>(kDirectoryPoolings.size()) * kMaxHiddenSize;  // all poolings side by side
inline constexpr int64_t kMaxModules = 16;
inline constexpr int64_t kMaxSkipWords = 10000;  // skiplist_words of PyLate
inline constexpr int64_t kMaxPrompts = 1024;
inline constexpr int64_t kMaxFolderEntries = 10'000;

inline constexpr JsonLimits kConfigJson = {.max_bytes = 1 << 20, .max_depth = 32};
inline constexpr JsonLimits kIndexJson = {.max_bytes = 16 << 20, .max_depth = 8};
inline constexpr JsonLimits kTokenizerJson = {.max_bytes = 64 << 20, .max_depth = 64};

}  // namespace encode
