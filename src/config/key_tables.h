// The parts of the table of keys.
#pragma once

#include <cstdint>
#include <vector>

#include "config/schema.h"

namespace encode {

inline constexpr int64_t kMaxBatchRows = 1 << 20;
inline constexpr int64_t kMaxBatchTokens = int64_t{1} << 31;

// Returns the keys of all parts, one part after the other.
std::vector<KeySpec> joined(const std::vector<std::vector<KeySpec>>& parts);

std::vector<KeySpec> vector_keys();            // the model, and what decides its vectors
std::vector<KeySpec> run_keys();               // batches, chunks and the cache directory
std::vector<KeySpec> passage_keys();           // the passages that texts are cut into
std::vector<KeySpec> cache_keys();             // the embedding cache
std::vector<KeySpec> hardware_keys();          // the devices and the host
std::vector<KeySpec> input_keys();             // the input of a stream
std::vector<KeySpec> stream_override_keys();   // the keys that override `semantic` for a stream
std::vector<KeySpec> passage_override_keys();  // those that override `semantic.passages`
std::vector<KeySpec> output_keys();            // the matrices and the messages

}  // namespace encode
