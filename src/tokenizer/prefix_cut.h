// Finds a cut in a text: a place with the property that the ids of the text before it are the first
// ids of the whole text. If a row will be truncated, it is enough to tokenize the text before a
// cut.
//
// A cut lies between an ASCII letter and a space, and an ASCII letter must follow the space. Each
// stage of the tokenizer states whether it allows cuts after a letter:
// - Added tokens allow cuts if none of them contains a letter and a space after it.
// - A normalizer allows cuts if it is local (Normalizer::is_local()).
// - A pre-tokenizer allows cuts if a piece ends at the cut.
// - Otherwise the model allows cuts if no token contains both the letter and the space.
// If one of the stages does not allow cuts after a letter, there are none.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace encode {

struct PipelineParts;

// Finds the cuts for one tokenizer. Immutable. Any number of threads may use it. Throws no Error.
class PrefixCut {
 public:
  PrefixCut() = default;  // makes an object that finds no cuts
  explicit PrefixCut(const PipelineParts& parts);

  // Returns the last cut at or before byte `at`, and 0 if there is none. `at` is a number of bytes,
  // at most utf8.size().
  size_t find(std::string_view utf8, size_t at) const;

 private:
  bool possible_ = false;
  // The index is a byte of the text before normalization. True for each ASCII letter that a cut can
  // follow.
  std::array<bool, 256> ends_word_{};
};

}  // namespace encode
