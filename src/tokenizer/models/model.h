// The third stage: a model turns pieces into ids. Each model type of tokenizer.json has one class.
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

// A token and the bytes that it stands for.
struct RangedToken {
  int32_t id;
  Piece bytes;  // counted from the first byte of the piece
  // The token is spelled as these bytes, and not as the vocabulary spells the id.
  bool is_text = false;
};

class Model {
 public:
  // Memory that one thread needs while it tokenizes. Each model has its own kind.
  class Scratch {
   public:
    virtual ~Scratch() = default;
    // Frees memory after an unusually long row.
    virtual void shrink(size_t max_bytes) { static_cast<void>(max_bytes); }
  };

  virtual ~Model() = default;

  virtual std::unique_ptr<Scratch> make_scratch() const = 0;

  // Writes the ids of all pieces of `text` to `out` and returns their end. A model gives at most
  // one id for each byte. `out` has room for that and for kSlackIds more, so that a model can write
  // a few ids at once.
  static constexpr size_t kSlackIds = 8;
  virtual int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& scratch,
                            int32_t* out) const = 0;

  // Appends the tokens of one piece, the same tokens as tokenize() gives. Their byte ranges are the
  // ranges that Hugging Face `tokenizers` counts: if a model leaves something out, the ranges after
  // it are wrong by as much.
  virtual void tokenize_ranged(std::string_view piece, Scratch& scratch,
                               std::vector<RangedToken>& tokens) const = 0;

  // True if no token of a piece contains both `letter` (ASCII) and the space or U+2581 after it,
  // and the tokens before such a border do not depend on what follows.
  virtual bool cuts_between(char letter, WordBorder border) const {
    static_cast<void>(letter);
    static_cast<void>(border);
    return false;
  }

  virtual std::string name() const = 0;  // "WordPiece", ...
};

}  // namespace encode
