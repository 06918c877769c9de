// Finds a place where a text can be cut before it is tokenized, such that the ids of the part
// before the cut are the first ids of the whole text. A row that will be truncated needs no more
// than that part.
//
// A cut lies between an ASCII letter and a space that an ASCII letter follows. Each stage of the
// tokenizer answers for itself whether all such cuts are right. Added tokens: none of them contains
// such a place. The normalizer: it looks at nothing beyond the characters of one cluster. The
// pre-tokenizer: a piece ends at the cut; or else the model: no token contains both the letter and
// the space. If a stage gives no answer, there are no cuts.
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

  bool possible() const { return possible_; }
  // Returns the last cut at or before byte `at`, and 0 if there is none.
  size_t find(std::string_view utf8, size_t at) const;

 private:
  bool possible_ = false;
  std::array<bool, 256> ends_word_{};  // ASCII letters, as they are before normalization
};

}  // namespace encode
