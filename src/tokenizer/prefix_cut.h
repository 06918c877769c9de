// Where a text can be cut before it is tokenized: the ids of what is before the cut are then the
// first ids of the whole text. A row that will be truncated needs no more.
//
// Cuts are between an ASCII letter and a space that an ASCII letter follows. Whether all of them
// are right depends on the tokenizer, and each stage answers for itself: added tokens, that none of
// them reaches across; the normalizer, that it looks at no more than the characters that a cluster
// is made of; the pre-tokenizer, that a piece ends there, or else the model, that no token joins
// the two. A stage that gives no answer means no cuts.
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
  // The last cut at or before `at`; 0: there is none.
  size_t find(std::string_view utf8, size_t at) const;

 private:
  bool possible_ = false;
  std::array<bool, 256> ends_word_{};  // ASCII letters, as they are before normalization
};

}  // namespace encode
