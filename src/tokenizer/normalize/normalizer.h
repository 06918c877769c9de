// The first stage: a normalizer rewrites text. Each normalizer type of tokenizer.json has one
// class, with the same results.
#pragma once

#include "tokenizer/alignment.h"
#include "tokenizer/text_buffer.h"

namespace encode {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Replaces the text by its normal form. May leave the text as it is if it is in normal form.
  // Thread-safe.
  virtual void normalize(TextBuffer& text) const = 0;
  // Does the same, and keeps track of where each byte comes from.
  virtual void normalize_aligned(AlignedText& text) const = 0;

  // Returns true if the text before and the text after a border have no effect on each other. A
  // border is between an ASCII letter and the space after it, or the U+2581 that an earlier step
  // has put in its place. A local normalizer may still remove white space at the ends of the text.
  virtual bool is_local() const { return false; }
};

}  // namespace encode
