// Finds places at which a text can be cut before its symbols are merged. If no merge has a left
// side that ends with character x and a right side that begins with character y, no token contains
// "xy". So BPE can merge the text up to x and the text from y on separately. Some pre-tokenizers do
// not cut a text into words (Gemma). The model then uses these cuts instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

// Immutable. Any number of threads may use it. It throws no Error.
class MergeBorders {
 public:
  MergeBorders() = default;  // makes an object that finds no cuts
  // Each symbol of a text is a character or one of `stand_ins`. Stand-ins are tokens such as <0xNN>
  // and <unk>, which stand for text with another spelling. Stand-ins of -1 are ignored.
  MergeBorders(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
               std::span<const int32_t> stand_ins);

  // Returns the size in bytes of the part of `text` before its first cut. `text` must not be empty.
  size_t first_part(std::string_view text) const;

 private:
  // The classes of characters. Each ASCII character that is a token has a class of its own, and so
  // has U+2581, which begins most words. All other characters share the class kOtherClass, to keep
  // the table small. A text is never cut between two characters of kOtherClass, because characters
  // without a token may have to become one unknown token.
  static constexpr uint8_t kMetaspaceClass = 128;
  static constexpr uint8_t kOtherClass = 129;
  static constexpr size_t kClasses = 130;

  struct Symbol {
    uint32_t char_class;
    uint32_t size;
  };
  Symbol symbol_at(const char* p, const char* end) const;

  bool cuts_ = false;
  uint8_t metaspace_ = kOtherClass;  // the class of U+2581; kMetaspaceClass if it is a token
  std::array<uint8_t, 128> ascii_{};
  std::array<std::array<bool, kClasses>, kClasses> joined_{};
};

}  // namespace encode
