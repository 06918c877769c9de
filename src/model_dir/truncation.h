// What the cut at max_length loses, and what a user can do about it. Preflight, the run and the
// report use the same words. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/model_directory.h"

namespace encode {

struct Truncation {
  int64_t rows = 0;
  int64_t truncated_rows = 0;
  int64_t tokens = 0;  // the tokens of all rows, after the cut
  int64_t lost_tokens = 0;
  int64_t max_length = 0;  // in tokens
  // ModelDirectory::position_limit; nullopt: the model directory is not available.
  std::optional<int64_t> position_limit = std::nullopt;
  // True: the rows are cut into passages of max_length tokens, so only a character with more tokens
  // is cut.
  bool of_passages = false;

  // The setting of max_length: "semantic.max_length" or "semantic.passages.max_tokens".
  const char* key() const;
  double lost_share() const;  // the lost share of all tokens, 0 to 1
};

// Returns the tokens that a passage, or else a row, is cut to.
int64_t most_tokens(const EffectiveResult& effective);

// "257 of 1,000 rows (25.7 %) are longer than 256 tokens; the cut loses 31.2 % of all tokens".
// `rows` is the text that follows "of": "1,000 rows". Does not throw Error.
std::string describe(const Truncation& truncation, const std::string& rows);

// Returns the ways to lose less: "raise --max-length (at most 512 tokens with this model), ...".
// `max_length` is the name of the setting as the user gives it: "--max-length" or
// "semantic.max_length". If a run already has a result, which the next run would refuse to replace,
// `new_output` says how the user names another output, such as "another --output FILE". Does not
// throw Error.
std::string truncation_advice(const Truncation& truncation, const std::string& max_length,
                              const std::string& new_output = "");

}  // namespace encode
