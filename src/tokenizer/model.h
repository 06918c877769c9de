// The third stage: pieces -> ids. One class for each model type of tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/text_pattern.h"
#include "tokenizer/word_border.h"

namespace encode {

class Model {
 public:
  // What one thread needs while it tokenizes; each model has its own kind.
  class Scratch {
   public:
    virtual ~Scratch() = default;
    virtual void shrink(size_t max_bytes) {
      static_cast<void>(max_bytes);
    }  // after an unusually long row
  };

  virtual ~Model() = default;

  virtual std::unique_ptr<Scratch> make_scratch() const = 0;

  // Writes the ids of all pieces of `text` to `out` and returns their end. No model gives more than
  // one id a byte; `out` has room for one id a byte and kSlackIds more, so that a few can be
  // written at once.
  static constexpr size_t kSlackIds = 8;
  virtual int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& scratch,
                            int32_t* out) const = 0;

  // True where no token of a piece reaches from `letter` (ASCII) into the space or U+2581 after it,
  // and the tokens before such a border do not depend on what follows.
  virtual bool cuts_between(char letter, WordBorder border) const {
    static_cast<void>(letter);
    static_cast<void>(border);
    return false;
  }

  virtual std::string name() const = 0;  // "WordPiece", ...
};

}  // namespace encode
