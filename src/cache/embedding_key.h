// The key under which a vector is cached: a hash of everything that decides its bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "encode/batch.h"

namespace encode {

// A SHA-256. With a weaker hash somebody could construct a text that has the key of another text.
struct EmbeddingKey {
  std::array<std::byte, 32> bytes = {};

  bool operator==(const EmbeddingKey&) const = default;
};

struct EmbeddingKeyHash {
  size_t operator()(const EmbeddingKey& key) const {
    size_t hash = 0;  // the first bytes are enough, because all bits of a SHA-256 are random
    std::memcpy(&hash, key.bytes.data(), sizeof hash);
    return hash;
  }
};

// Everything that decides the vectors of a stream, apart from the token ids of the rows.
struct KeyRules {
  // The model, the result options and the tokenizer: the fingerprint of the stream without its
  // input and its passages.
  std::string fingerprint;
  int64_t numerics_version = 0;  // Fingerprint::kNumericsVersion
  int64_t prompt_tokens = 0;     // PackedBatch::prompt_tokens, which pooling leaves out
  // The token types of the special tokens and of the text; empty if all are 0.
  std::string token_types;
  // The kind of device: ChunkOrigin::same_kind().
  std::string device;
  std::string libtorch;
  std::string driver;
  // A hash of the vectors that the loaded model gives to fixed texts. It differs if the program
  // computes other bits for a reason that no other field covers.
  std::string self_test;
  // ChunkOrigin::kernels and ChunkOrigin::cuda_numerics: "" and 0 on a CPU.
  std::string kernels = {};
  int64_t cuda_numerics = 0;
};

// Makes the keys of a stream's rows. Not thread-safe.
class KeyMaker {
 public:
  explicit KeyMaker(const KeyRules& rules);

  // Returns the key of a sequence with these token ids, and the spans of its vectors; without spans
  // the pooling of the model decides. The key does not contain positions, because they count from 0
  // in every sequence. Throws Error kInternal "internal.sha256".
  EmbeddingKey key(std::span<const int32_t> ids, std::span<const TokenSpan> spans = {});

 private:
  void add(std::span<const std::byte> bytes);

  std::vector<std::byte> text_;  // the hash of the rules, then the spans and the ids of a sequence
};

}  // namespace encode
