// The third stage: pieces -> ids. One class for each model type of tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split/text_pattern.h"
#include "tokenizer/word_border.h"

namespace encode {

// A token and what it stands for.
struct RangedToken {
  int32_t id;
  Piece bytes;           // of the piece, from its first byte on
  bool is_text = false;  // spelled as these bytes, not as the vocabulary spells the id
};

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

  // Appends the tokens of one piece, the same ones. Their bytes are what Hugging Face `tokenizers`
  // counts for them: where a model leaves something out, those after it are out by as much.
  virtual void tokenize_ranged(std::string_view piece, Scratch& scratch,
                               std::vector<RangedToken>& tokens) const = 0;

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
