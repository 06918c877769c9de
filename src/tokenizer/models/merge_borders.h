// Finds places where a text can be cut before its symbols are merged. If no merge has a left side
// that ends with character x and a right side that begins with character y, no token contains both
// characters of "xy". So BPE can merge the parts of the text before and after this border
// separately. If the pre-tokenizer cuts nothing (Gemma), these parts take the place of words.
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
  MergeBorders() = default;  // no cuts
  // Each symbol is a character or one of `stand_ins`. Stand-ins are tokens such as <0xNN> and <unk>
  // that stand for text with another spelling; -1 is no token.
  MergeBorders(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
               std::span<const int32_t> stand_ins);

  // Returns the size in bytes of the part of `text` before its first cut. `text` must not be empty.
  size_t first_part(std::string_view text) const;

  // True if there is always a cut between this ASCII character and U+2581.
  bool cuts_before_metaspace(char character) const {
    const uint8_t last = ascii_[static_cast<unsigned char>(character) & 0x7FU];
    return cuts_ && last != kOtherClass && !joined_[last][metaspace_];
  }

 private:
  // Each ASCII character that is a token has a class of its own, and so has U+2581, which begins
  // most words. All other characters have one class, and a text is never cut between two of them:
  // there are many of them, and characters without a token may have to be fused.
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
