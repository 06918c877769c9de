#include "tokenizer/prompt_tokens.h"

#include <algorithm>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/units.h"

namespace encode {

int32_t prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt) {
  if (prompt.empty()) return 0;
  TokenizedRows rows;
  tokenizer.encode(prompt, {.max_length = 0, .add_special_tokens = true}, rows);
  const auto row = rows.row(0);
  const bool closed = !row.empty() && tokenizer.is_special(row.back());
  return static_cast<int32_t>(row.size()) - (closed ? 1 : 0);
}

void require_room_after_prompt(const Tokenizer& tokenizer, const std::string& prompt,
                               const TokenizeOptions& options, const std::string& where) {
  if (prompt.empty() || options.max_length == 0) return;
  TokenizeOptions whole = options;
  whole.max_length = 0;
  TokenizedRows rows;
  tokenizer.encode(prompt, whole, rows);
  const auto prompt_size = static_cast<int64_t>(rows.row(0).size());
  if (prompt_size < options.max_length) return;
  // Truncation on the left keeps the end of a row, so tokens of the text are left.
  tokenizer.encode(prompt, options, rows);
  tokenizer.encode(prompt + " a text after the prompt", options, rows);
  if (!std::ranges::equal(rows.row(1), rows.row(2))) return;
  throw Error({.code = "model.max_length",
               .what = "max_length has no room for a text after the prompt",
               .where = where,
               .expected = fmt::format("a max_length above {}, the tokens of the prompt '{}' with "
                                       "the special tokens",
                                       prompt_size, preview(prompt)),
               .found = fmt::to_string(options.max_length),
               .hint =
                   "all rows would be the prompt alone: give a shorter --prompt (semantic.prompt) "
                   "or a larger --max-length (semantic.max_length)"});
}

}  // namespace encode
