// Finds rows of a window that have the same token ids. Any thread may call the function. It throws
// no Error.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/tokenizer.h"

namespace encode {

// A row that gets the vector (or the vectors of its tokens) of an earlier row, because equal rows
// have equal vectors.
struct DuplicateRow {
  int64_t row = 0;
  int64_t first = 0;         // the first row with the same ids; it is no DuplicateRow
  int64_t tokens = 0;        // the number of tokens of each of the two rows
  int64_t token_offset = 0;  // the number of tokens in the window before `row`
  int64_t first_token_offset = 0;
};

// Returns the duplicates of a window in ascending order. Rows without tokens are no duplicates.
std::vector<DuplicateRow> find_duplicates(const TokenizedRows& rows);

}  // namespace encode
