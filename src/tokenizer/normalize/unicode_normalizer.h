// The normalizers NFC, NFD, NFKC and NFKD. Other normalizers also use their decomposition.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/normalize/normalizer.h"

namespace encode {

// Decomposes code points one after the other, and puts the result in canonical order. Not
// thread-safe. It throws no Error.
class CanonicalDecomposer {
 public:
  struct Mark {
    char32_t code_point;
    int combining_class;
    // Rewriting::Step::change. The text before the decomposition is the old text.
    int32_t change;
  };

  explicit CanonicalDecomposer(bool compatibility) : compatibility_(compatibility) {}

  // `c` is at most U+10FFFF, and `utf8` is valid UTF-8.
  void add(char32_t c);
  void add(std::string_view utf8);
  void push_as_is(char32_t c) { push(c, 0, 0); }  // adds `c` without decomposing or moving it
  // Returns the result for all code points that were added since clear(). The reference is valid
  // until the next call of a function that is not const.
  const std::vector<Mark>& code_points();
  void clear();

 private:
  void push(char32_t c, int combining_class, int32_t change);
  void sort_pending();

  bool compatibility_;
  std::vector<Mark> code_points_;
  size_t pending_ = 0;  // the code points from this index on are not starters and are not sorted
};

// Replaces `text` by its canonical or compatibility decomposition.
void decompose_aligned(AlignedText& text, bool compatibility);

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };
std::unique_ptr<Normalizer> make_unicode_normalizer(NormalizationForm form);

}  // namespace encode
