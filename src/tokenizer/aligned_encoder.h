// Tokenizes a row a second time, more slowly, to find the code points that each token comes from.
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
  // The number of characters at each end of the token that stand for white space. A post-processor
  // may trim them.
  uint32_t leading_spaces = 0;
  uint32_t trailing_spaces = 0;
};

// Returns the tokens of a whole row, without special tokens. Takes at least 16 bytes of memory for
// each byte of text. `utf8` is valid UTF-8 of at most kMaxAlignedBytes. Any number of threads may
// call it, each with its own `scratch` of parts.model. The function has no RewriteBudget, so the
// caller must have encoded the row without offsets before. Throws Error kData "tokenizer.regex" as
// PreTokenizer does.
std::vector<AlignedToken> encode_aligned(std::string_view utf8, const PipelineParts& parts,
                                         TokenizerModel::Scratch& scratch);

// A row that append_row() (pipeline.h) has made from the ids of `tokens`.
struct AlignedRow {
  const std::vector<AlignedToken>& tokens;
  size_t size;  // the number of ids in the row
  bool has_special_tokens;
};

// Appends an offset for each id of the row. Throws no Error.
void append_offsets(const AlignedRow& row, const RowForm& form, std::vector<TokenOffset>& offsets);

}  // namespace encode
