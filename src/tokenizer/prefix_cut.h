// Finds a place where a text can be cut before it is tokenized, so that the ids of the part before
// the cut are the first ids of the whole text. A row that will be truncated needs no more than that
// part.
//
// A cut is between an ASCII letter and a space, and an ASCII letter follows the space. Each stage
// of the tokenizer states whether it allows the cuts after a letter:
// - Added tokens allow cuts if none of them contains a letter and a space after it.
// - A normalizer allows cuts if it is local (Normalizer::is_local()).
// - A pre-tokenizer allows cuts if a piece ends at the cut.
// - Otherwise the model allows cuts if no token contains both the letter and the space.
// There are no cuts if one of the stages does not allow them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace encode {

struct PipelineParts;

class PrefixCut {
 public:
  PrefixCut() = default;  // no cuts
  explicit PrefixCut(const PipelineParts& parts);

  // Returns the last cut at or before byte `at`, and 0 if there is none.
  size_t find(std::string_view utf8, size_t at) const;

 private:
  bool possible_ = false;
  // True for each ASCII letter, before normalization, that a cut can follow.
  std::array<bool, 256> ends_word_{};
};

}  // namespace encode
