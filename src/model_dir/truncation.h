// What the cut at max_length loses, and what a user can do about it. Preflight, the run and the
// report say it in the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace encode {

struct Truncation {
  int64_t rows = 0;
  int64_t truncated_rows = 0;
  int64_t tokens = 0;  // of all rows together, after the cut
  int64_t lost_tokens = 0;
  int64_t max_length = 0;  // in tokens
  // ModelDirectory::position_limit; nullopt: the model directory is not at hand.
  std::optional<int64_t> position_limit = std::nullopt;

  double lost_share() const;  // of all tokens before the cut, 0 to 1
};

// "257 of 1,000 rows (25.7 %) are longer than 256 tokens; the cut loses 31.2 % of all tokens".
// `rows` is the text that follows "of": "1,000 rows". Does not throw Error.
std::string describe(const Truncation& truncation, const std::string& rows);

// "raise max_length (at most 512 tokens with this model), ...": the ways to lose less. Does not
// throw Error.
std::string truncation_advice(const Truncation& truncation);

}  // namespace encode
