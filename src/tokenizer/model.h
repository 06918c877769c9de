// The third stage: pieces -> ids. One class for each model type of tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/text_pattern.h"

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

  virtual std::string name() const = 0;  // "WordPiece", ...
};

}  // namespace encode
