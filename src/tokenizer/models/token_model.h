// The third stage of a tokenizer: a model turns pieces (words) into ids. Each model type of
// tokenizer.json has one class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split/text_pattern.h"

namespace encode {

// A token and the bytes that it stands for.
struct RangedToken {
  int32_t id;
  Piece bytes;  // the range of the bytes, counted from the first byte of the piece
  // True if the spelling of the token is these bytes. Otherwise the vocabulary has its spelling.
  bool is_text = false;
};

// Models are immutable and throw no Error.
class TokenizerModel {
 public:
  // The memory that a thread needs to tokenize. Each model derives a class of its own.
  class Scratch {
   public:
    virtual ~Scratch() = default;
    // Frees each buffer that has more than `max_bytes`.
    virtual void shrink(size_t max_bytes) { static_cast<void>(max_bytes); }
  };

  virtual ~TokenizerModel() = default;

  virtual std::unique_ptr<Scratch> make_scratch() const = 0;

  // Writes the ids of all pieces of `text` to `out` and returns the end of the ids. A model gives
  // at most one id for each byte. `out` must have room for text.size() + kSlackIds ids, so that a
  // model can write several ids at once. Thread-safe if each thread has its own `scratch`.
  static constexpr size_t kSlackIds = 8;
  virtual int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& scratch,
                            int32_t* out) const = 0;

  // Appends the tokens of one piece. They have the ids that tokenize() gives, and the same byte
  // ranges as in Hugging Face `tokenizers`. If the model leaves out characters, the ranges after
  // these characters are wrong by their size, as in that library.
  virtual void tokenize_ranged(std::string_view piece, Scratch& scratch,
                               std::vector<RangedToken>& tokens) const = 0;

  virtual std::string name() const = 0;  // "WordPiece", ...
};

}  // namespace encode
