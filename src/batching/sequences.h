// The token sequences of a window, and the vectors that each of them gets. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "encode/batch.h"
#include "encode/tokenizer.h"

namespace encode {

// The vectors of N sequences, numbered over all of them.
struct SequenceVectors {
  // [N + 1]: sequence i has the vectors [offsets[i], offsets[i + 1]). Empty: each has one.
  std::vector<int64_t> offsets = {};
  // PackedBatch::spans of each vector; empty if the pooling of the model decides.
  std::vector<TokenSpan> spans = {};

  int64_t first(int64_t sequence) const {
    return offsets.empty() ? sequence : offsets[static_cast<size_t>(sequence)];
  }
  int64_t count(int64_t sequence) const {
    return offsets.empty() ? 1 : first(sequence + 1) - first(sequence);
  }
  // Returns the spans of the vectors of a sequence.
  std::span<const TokenSpan> spans_of(int64_t sequence) const {
    if (spans.empty()) return {};
    return std::span(spans).subspan(static_cast<size_t>(first(sequence)),
                                    static_cast<size_t>(count(sequence)));
  }
};

struct Sequences {
  TokenizedRows ids;
  SequenceVectors vectors = {};
  std::vector<int32_t> type_ids = {};  // the type of each id of `ids`; empty if all are 0
  int32_t prompt_tokens = 0;           // PackedBatch::prompt_tokens
};

// Returns sequences that have a vector for each token, as PoolingMode::kNone gives, or one each.
inline Sequences sequences_of(TokenizedRows ids, bool token_embeddings) {
  Sequences sequences = {.ids = std::move(ids)};
  if (token_embeddings) sequences.vectors.offsets = sequences.ids.offsets;
  return sequences;
}

}  // namespace encode
