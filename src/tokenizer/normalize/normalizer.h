// The first stage: rewrites text. One class for each normalizer type of tokenizer.json, same names,
// same results.
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
  // Leaves text.view() alone where the text is already in normal form. Thread-safe.
  virtual void normalize(TextBuffer& text) const = 0;
  // The same, with where each byte comes from.
  virtual void normalize_aligned(AlignedText& text) const = 0;

  // True where nothing on one side of a border between an ASCII letter and the space after it has
  // an effect on what the other side becomes (white space at the ends of the text may go). Steps
  // before this one may have put U+2581 in the space's place.
  virtual bool is_local() const { return false; }
};

}  // namespace encode
