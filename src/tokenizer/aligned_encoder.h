// The pipeline once more, slowly: every token with the code points it comes from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/tokenizer.h"

#include "tokenizer/alignment.h"
#include "tokenizer/pipeline.h"

namespace encode {

struct AlignedToken {
  int32_t id;
  CodePoints origin;
  // What a post-processor may trim: characters that stand for white space at the ends of the token.
  uint32_t leading_spaces = 0;
  uint32_t trailing_spaces = 0;
};

// The tokens of a whole row, without special tokens. Takes 16 bytes and more for each byte of text.
std::vector<AlignedToken> encode_aligned(std::string_view utf8, const PipelineParts& parts,
                                         Model::Scratch& scratch);

// A row that append_row() has made of `tokens`.
struct AlignedRow {
  const std::vector<AlignedToken>& tokens;
  size_t size;  // ids in the row
  bool has_special_tokens;
};

void append_offsets(const AlignedRow& row, const SpecialTokens& special,
                    std::vector<TokenOffset>& offsets);

}  // namespace encode
