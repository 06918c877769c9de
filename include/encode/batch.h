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

// B sequences, stored one after the other in T tokens. This is the layout of varlen attention. A
// sequence is a row of the input, or a passage or a part of a row. The sequences that are packed
// together are numbered from 0, and so are their vectors.
struct PackedBatch {
  std::vector<int32_t> input_ids;      // [T]
  std::vector<int32_t> position_ids;   // [T], counted from 0 within each sequence
  std::vector<int32_t> type_ids = {};  // [T], the token types (segments); empty if all are 0
  // [B + 1]: sequence b has the tokens [cu_seqlens[b], cu_seqlens[b + 1]). The first entry is 0 and
  // the last entry is T. Every sequence has at least one token.
  std::vector<int32_t> cu_seqlens;
  std::vector<int64_t> sequence_numbers;  // [B]
  // [B]: sequence b has vectors[b] vectors, and the first of them is row first_vectors[b] of the
  // output. It has one for each of its spans; without spans one, or one a token with kNone.
  std::vector<int64_t> first_vectors;
  std::vector<int32_t> vectors;
  // [V], V the sum of `vectors`: the tokens of its sequence that each vector is the mean of, with
  // 0 <= begin < end <= the tokens of the sequence. Empty: the pooling of the model decides.
  std::vector<TokenSpan> spans = {};
  int32_t max_seqlen = 0;     // the tokens in the longest sequence
  int32_t prompt_tokens = 0;  // leading tokens of every sequence that pooling leaves out

  int64_t tokens() const { return static_cast<int64_t>(input_ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(sequence_numbers.size()); }
  bool operator==(const PackedBatch&) const = default;
};

}  // namespace encode
