// Where each byte of a text on its way through the pipeline comes from. Only the path that gives
// offsets keeps this; its rules are those of Hugging Face `tokenizers`, whose offsets they become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split/text_pattern.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {

// Code points [begin, end) of the row.
struct CodePoints {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// What a step makes of a text: the new code points, each with what it takes of the old ones.
class Rewriting {
 public:
  struct Step {
    char32_t code_point;
    // 0: it takes the place of the next old code point. -n: and n more vanish after that one.
    // Above 0: it takes none, and comes from where the old one before it does.
    int32_t change;
  };

  void add(char32_t code_point, int32_t change) { steps_.push_back({code_point, change}); }
  // Characters of `old` become `fresh`, as a whole.
  void replace(std::string_view old, std::string_view fresh);

  std::vector<Step>& steps() { return steps_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

class AlignedText {
 public:
  explicit AlignedText(std::string_view row);
  AlignedText slice(size_t begin, size_t end) const;  // bytes

  std::string_view view() const { return text_; }
  const std::vector<CodePoints>& origins() const { return origins_; }  // one a byte
  bool at_origin() const { return !origins_.empty() && origins_.front().begin == 0; }

  // The first `removed` code points vanish, the others become what `rewriting` says.
  void rewrite(const Rewriting& rewriting, size_t removed = 0);
  void prepend(std::string_view prefix);
  void replace(std::span<const Match> matches, std::string_view content);
  void narrow(size_t begin, size_t end);  // bytes

  // Leaves out the code points for which `keeps(code_point)` does not hold.
  template <typename Keeps>
  void filter(Keeps&& keeps) {
    Rewriting kept;
    size_t removed_first = 0;
    for_each([&](char32_t c) {
      if (keeps(c)) {
        kept.add(c, 0);
      } else if (kept.steps().empty()) {
        ++removed_first;
      } else {
        --kept.steps().back().change;
      }
    });
    rewrite(kept, removed_first);
  }
  // `on(code_point)` for each, in order.
  template <typename Function>
  void for_each(Function&& on) const {
    const char* end = text_.data() + text_.size();
    for (const char* p = text_.data(); p < end;) {
      const unicode::Decoded d = unicode::decode(p, end);
      on(d.code_point);
      p += d.size;
    }
  }

 private:
  AlignedText() = default;

  std::string text_;
  std::vector<CodePoints> origins_;
  uint32_t first_ = 0;  // the code point of the row that the text began with
};

// What bytes [begin, end) of a text come from; `origins` has one entry a byte.
CodePoints covered(std::span<const CodePoints> origins, size_t begin, size_t end);

}  // namespace encode
