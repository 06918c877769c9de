// Rows without a text, and what a user can do about them. Preflight, the run and the report use the
// same words. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace encode {

struct EmptyRows {
  int64_t empty = 0;  // rows without a byte or a token id
  int64_t blank = 0;  // rows of white space only, with at least one byte

  bool any() const { return empty + blank > 0; }
};

// Returns true for a text of white space: at least one byte, and only ASCII's space, tab, line
// feed, vertical tab, form feed and carriage return.
bool is_white_space(std::string_view text);

// Returns "12 rows have an empty text, and 3 rows have only white space". rows.any() must be true.
// Does not throw Error.
std::string describe(const EmptyRows& rows);

// Returns how to leave such rows out: "give --empty-row reject (empty_row: reject in the config)".
// Does not throw Error.
std::string empty_rows_advice(const EmptyRows& rows);

}  // namespace encode
