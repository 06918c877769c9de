// The first stage of a tokenizer: a normalizer rewrites the text. Each normalizer type of
// tokenizer.json has one class here, which gives the same results.
#pragma once

#include "tokenizer/alignment.h"
#include "tokenizer/text_buffer.h"

namespace encode {

// Normalizers are immutable.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Replaces the text by its normal form. May leave the text as it is if it is in normal form.
  // Any number of threads may call it, each with its own text. The text is valid UTF-8 before and
  // after. Throws Error kData, and the text is then undefined: "tokenizer.regex" if the pattern of
  // a Replace needs too many steps, "tokenizer.growth" if the text exceeds its RewriteBudget.
  virtual void normalize(TextBuffer& text) const = 0;
  // Does the same without a budget, so it may be called only for a text that normalize() accepts.
  // Throws "tokenizer.regex" in the same case. Keeps track of where each byte comes from.
  virtual void normalize_aligned(AlignedText& text) const = 0;
};

}  // namespace encode
