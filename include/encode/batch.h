// Sequences laid end to end, without padding.
#pragma once

#include <cstdint>
#include <vector>

namespace encode {

// B sequences packed into T tokens, the layout of varlen attention.
struct PackedBatch {
  std::vector<int32_t> input_ids;     // [T]
  std::vector<int32_t> position_ids;  // [T], 0-based within each sequence
  std::vector<int32_t>
      cu_seqlens;  // [B + 1], cu_seqlens[0] = 0, cu_seqlens[B] = T; every sequence is non-empty
  std::vector<int64_t> rows;  // [B], the window row each sequence belongs to
  // [B], the window's tokens before that row: where its vectors go if every token keeps its own.
  std::vector<int64_t> token_offsets;
  int32_t max_seqlen = 0;
  int32_t prompt_tokens = 0;  // leading tokens of every sequence that pooling leaves out

  int64_t tokens() const { return static_cast<int64_t>(input_ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(rows.size()); }
};

}  // namespace encode
