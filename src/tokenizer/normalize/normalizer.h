// The first stage: a normalizer rewrites text. Each normalizer type of tokenizer.json has one
// class, with the same name and the same results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/alignment.h"
#include "tokenizer/text_buffer.h"

namespace encode {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Does not touch the text if it is in normal form already. Thread-safe.
  virtual void normalize(TextBuffer& text) const = 0;
  // Does the same, and keeps track of where each byte comes from.
  virtual void normalize_aligned(AlignedText& text) const = 0;

  // True if at each border between an ASCII letter and the space after it, neither side has an
  // effect on what the other side becomes. White space at the ends of the text may vanish all the
  // same. Steps before this one may have replaced the space by U+2581.
  virtual bool is_local() const { return false; }
};

}  // namespace encode
