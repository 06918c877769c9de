// Records, while the pipeline rewrites a text, the code points of the row that each byte comes
// from. Only the tokenization with offsets needs this. The rules are the rules of Hugging Face
// `tokenizers`, because the offsets must be equal to the offsets of that library.
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

// Describes how a step rewrites a text: the new code points in order, each with the old code points
// that it replaces. Not thread-safe. It throws no Error.
class Rewriting {
 public:
  struct Step {
    char32_t code_point;
    // 0: the new code point replaces the next old code point.
    // -n: it replaces the next old code point, and the n old code points after that are removed.
    // > 0: it replaces no old code point. Its origin is the origin of the old code point before it.
    int32_t change;
  };

  void add(char32_t code_point, int32_t change) { steps_.push_back({code_point, change}); }
  // Adds the steps that replace the characters of `old` by the characters of `fresh`.
  void replace(std::string_view old, std::string_view fresh);

  std::vector<Step>& steps() { return steps_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// A text with its origins. The text is valid UTF-8 of less than 4 GiB, and offsets are bytes of it.
// Not thread-safe. It throws no Error.
class AlignedText {
 public:
  explicit AlignedText(std::string_view row);
  AlignedText slice(size_t begin, size_t end) const;  // returns the bytes [begin, end)

  std::string_view view() const { return text_; }
  const std::vector<CodePoints>& origins() const { return origins_; }  // one entry for each byte
  // Returns true if the first byte comes from the first code point of the row.
  bool at_origin() const { return !origins_.empty() && origins_.front().begin == 0; }

  // Removes the first `removed` code points, and rewrites the other code points by `rewriting`.
  void rewrite(const Rewriting& rewriting, size_t removed = 0);
  void prepend(std::string_view prefix);
  void replace(std::span<const Match> matches, std::string_view content);
  void narrow(size_t begin, size_t end);  // keeps the bytes [begin, end)

  // Replaces each code point by the code points that `map(code_point, add)` passes to `add`, or
  // removes it if there are none. If `map` removes some code points, it must not pass two code
  // points for another one.
  template <typename Map>
  void map(Map&& map) {
    Rewriting mapped;
    size_t removed_first = 0;
    for_each([&](char32_t c) {
      int32_t change = 0;
      map(c, [&](char32_t to) {
        mapped.add(to, change);
        change = 1;
      });
      if (change == 1) return;
      if (mapped.steps().empty()) {
        ++removed_first;
      } else {
        --mapped.steps().back().change;
      }
    });
    rewrite(mapped, removed_first);
  }
  // Calls `on(code_point)` for each code point, in order.
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
  uint32_t first_ = 0;  // the index in the row of the text's first code point
};

// Returns the code points that the bytes [begin, end) of a text come from. `origins` has one entry
// for each byte of the text. begin <= end <= origins.size().
CodePoints covered(std::span<const CodePoints> origins, size_t begin, size_t end);

}  // namespace encode
