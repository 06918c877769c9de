// Canonical and compatibility normal forms of one text, for the normalizers that need them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/normalize/normalizer.h"

namespace encode {

// Decomposes code points one after the other and gives them back in canonical order.
class CanonicalDecomposer {
 public:
  struct Mark {
    char32_t code_point;
    int combining_class;
  };

  explicit CanonicalDecomposer(bool compatibility) : compatibility_(compatibility) {}

  void add(char32_t c);
  void add(std::string_view utf8);
  void push_as_is(char32_t c) { push(c, 0); }  // not decomposed, not moved
  const std::vector<Mark>& code_points();  // all that was added since clear(), in canonical order
  void clear();

 private:
  void push(char32_t c, int combining_class);
  void sort_pending();

  bool compatibility_;
  std::vector<Mark> code_points_;
  size_t pending_ = 0;  // code points from here on are not starters and not yet in order
};

// Makes `text` its canonical or compatibility decomposition.
void decompose_aligned(AlignedText& text, bool compatibility);

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };
std::unique_ptr<Normalizer> make_unicode_normalizer(NormalizationForm form);

// Composes in place what CanonicalDecomposer gave; code points that vanish become kComposedAway.
inline constexpr char32_t kComposedAway = 0xFFFFFFFF;
void compose_canonically(std::vector<CanonicalDecomposer::Mark>& code_points);

}  // namespace encode
