// A batch of token sequences without padding. Plain data.
#pragma once

#include <cstdint>
#include <vector>

namespace encode {

// Tokens [begin, end) of a sequence.
struct TokenSpan {
  int32_t begin = 0;
  int32_t end = 0;

  bool operator==(const TokenSpan&) const = default;
};

// B sequences, stored one after the other in T tokens. This is the layout of varlen attention. Each
// sequence is a row of a window, and a window is the set of rows that are packed together.
struct PackedBatch {
  std::vector<int32_t> input_ids;      // [T]
  std::vector<int32_t> position_ids;   // [T], counted from 0 within each sequence
  std::vector<int32_t> type_ids = {};  // [T], the token types (segments); empty if all are 0
  // [B + 1]: sequence b has the tokens [cu_seqlens[b], cu_seqlens[b + 1]). The first entry is 0 and
  // the last entry is T. Every sequence has at least one token.
  std::vector<int32_t> cu_seqlens;
  std::vector<int64_t> rows;  // [B], the row of the window that each sequence is
  // [B]: sequence b has vectors[b] vectors, and the first of them is row first_vectors[b] of the
  // output. With a pooling that is one vector, with PoolingMode::kNone one for each token.
  std::vector<int64_t> first_vectors;
  std::vector<int32_t> vectors;
  // For each vector, in order, the tokens of its sequence that it is the mean of. Empty: the
  // pooling of the model decides.
  std::vector<TokenSpan> spans = {};
  int32_t max_seqlen = 0;     // the tokens in the longest sequence
  int32_t prompt_tokens = 0;  // leading tokens of every sequence that pooling leaves out

  int64_t tokens() const { return static_cast<int64_t>(input_ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(rows.size()); }
  bool operator==(const PackedBatch&) const = default;
};

}  // namespace encode
