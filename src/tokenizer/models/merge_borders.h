// Where a text can be cut before its symbols are merged. Two neighbours that end the left and begin
// the right side of no merge always stay in different tokens, so BPE of a text is BPE of the parts
// between such neighbours. Where the pre-tokenizer cuts nothing (Gemma), this is what makes words.
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

class MergeBorders {
 public:
  MergeBorders() = default;  // no cuts
  // For symbols that are characters, or tokens that stand for others, as <0xNN> and <unk> do (-1:
  // none).
  MergeBorders(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
               std::span<const int32_t> stand_ins);

  // The bytes of `text` (not empty) up to its first cut.
  size_t first_part(std::string_view text) const;

  // A cut is always between this ASCII character and U+2581.
  bool cuts_before_metaspace(char character) const {
    const uint8_t last = ascii_[static_cast<unsigned char>(character) & 0x7FU];
    return cuts_ && last != kOtherClass && !joined_[last][metaspace_];
  }

 private:
  // Characters by what they do at a border. Sentencepiece's space begins most words: a class of
  // its own. The others are always taken to be joined: there are many of them, and those without a
  // token may have to be fused.
  static constexpr uint8_t kMetaspaceClass = 128;
  static constexpr uint8_t kOtherClass = 129;
  static constexpr size_t kClasses = 130;

  struct Symbol {
    uint32_t char_class;
    uint32_t size;
  };
  Symbol symbol_at(const char* p, const char* end) const;

  bool cuts_ = false;
  uint8_t metaspace_ = kOtherClass;  // the class of U+2581: its own where it is a token
  std::array<uint8_t, 128> ascii_{};
  std::array<std::array<bool, kClasses>, kClasses> joined_{};
};

}  // namespace encode
