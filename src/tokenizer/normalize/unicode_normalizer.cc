#include "tokenizer/normalize/unicode_normalizer.h"

#include <algorithm>

#include "tokenizer/unicode/unicode.h"

namespace encode {

using unicode::Decoded;
using Mark = CanonicalDecomposer::Mark;

void CanonicalDecomposer::clear() {
  code_points_.clear();
  pending_ = 0;
}

void CanonicalDecomposer::sort_pending() {
  if (code_points_.size() - pending_ > 1) {
    std::stable_sort(
        code_points_.begin() + static_cast<ptrdiff_t>(pending_), code_points_.end(),
        [](const Mark& a, const Mark& b) { return a.combining_class < b.combining_class; });
  }
  pending_ = code_points_.size();
}

void CanonicalDecomposer::push(char32_t c, int combining_class, int32_t change) {
  if (combining_class == 0) sort_pending();
  code_points_.push_back({c, combining_class, change});
  if (combining_class == 0) pending_ = code_points_.size();
}

void CanonicalDecomposer::add(char32_t c) {
  if (c < 0x80) return push(c, 0, 0);
  if (unicode::is_hangul_syllable(c)) {
    const char32_t i = c - unicode::kHangulBase;
    push(0x1100 + i / 588, 0, 0);
    push(0x1161 + i % 588 / 28, 0, 1);
    if (i % 28 != 0) push(0x11A7 + i % 28, 0, 1);
    return;
  }
  const auto parts = unicode::decomposition(c, compatibility_);
  const unicode::PropertyTable& table = unicode::properties();
  if (parts.empty()) return push(c, unicode::combining_class(table[c]), 0);
  int32_t change = 0;
  for (const uint32_t part : parts) {
    push(part, unicode::combining_class(table[part]), change);
    change = 1;
  }
}

void CanonicalDecomposer::add(std::string_view utf8) {
  const char* end = utf8.data() + utf8.size();
  for (const char* p = utf8.data(); p < end;) {
    const Decoded d = unicode::decode(p, end);
    add(d.code_point);
    p += d.size;
  }
}

const std::vector<Mark>& CanonicalDecomposer::code_points() {
  sort_pending();
  return code_points_;
}

namespace {

constexpr char32_t kComposedAway = 0xFFFFFFFF;

// Composes the result of a CanonicalDecomposer in place. If two code points are composed, the
// composite replaces the first of them and the old code points of both, and kComposedAway replaces
// the second.
void compose_canonically(std::vector<Mark>& marks) {
  Mark* starter = nullptr;
  // The combining class of the last code point after the starter that was not composed, or -1 if
  // there is no such code point.
  int last_class = -1;
  for (Mark& mark : marks) {
    if (starter != nullptr && last_class < mark.combining_class) {
      if (const char32_t composite = unicode::compose(starter->code_point, mark.code_point);
          composite != 0) {
        starter->code_point = composite;
        starter->change += mark.change - 1;
        mark.code_point = kComposedAway;
        continue;
      }
    }
    if (mark.combining_class == 0) {
      starter = &mark;
      last_class = -1;
    } else {
      last_class = mark.combining_class;
    }
  }
}

void rewrite_as(const std::vector<Mark>& marks, AlignedText& text) {
  Rewriting rewriting;
  for (const Mark& mark : marks) {
    if (mark.code_point != kComposedAway) rewriting.add(mark.code_point, mark.change);
  }
  text.rewrite(rewriting);
}

// Normalizes only the stretches around code points that may change, and copies the rest of the
// text. If no code point may change, it leaves the text as it is.
class UnicodeNormalizer final : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalizationForm form)
      : composes_(form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc),
        compatibility_(form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd) {
    switch (form) {
      case NormalizationForm::kNfc:
        maybe_ = unicode::kNfcMaybe;
        break;
      case NormalizationForm::kNfd:
        maybe_ = unicode::kNfdMaybe;
        break;
      case NormalizationForm::kNfkc:
        maybe_ = unicode::kNfkcMaybe;
        break;
      case NormalizationForm::kNfkd:
        maybe_ = unicode::kNfkdMaybe;
        break;
    }
  }

  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    Stretch stretch = next_stretch(in, 0);
    if (stretch.begin == in.size()) return;
    std::string& out = text.spare();
    CanonicalDecomposer decomposer(compatibility_);
    std::vector<Mark> marks;
    size_t done = 0;
    while (stretch.begin < in.size()) {
      out.append(in, done, stretch.begin - done);
      decomposer.clear();
      decomposer.add(in.substr(stretch.begin, stretch.end - stretch.begin));
      marks = decomposer.code_points();
      if (composes_) compose_canonically(marks);
      for (const Mark& mark : marks) {
        if (mark.code_point != kComposedAway) unicode::append_utf8(out, mark.code_point);
      }
      text.check_growth();
      done = stretch.end;
      stretch = next_stretch(in, done);
    }
    out.append(in, done, in.size() - done);
    text.commit();
  }

  void normalize_aligned(AlignedText& text) const override {
    CanonicalDecomposer decomposer(compatibility_);
    decomposer.add(text.view());
    std::vector<Mark> marks = decomposer.code_points();
    if (composes_) compose_canonically(marks);
    rewrite_as(marks, text);
  }

 private:
  struct Stretch {
    size_t begin, end;  // a part of the text that may change; if there is none left, `begin` is
                        // the size of the text
  };

  // Returns the next stretch at or after `from`. The stretch begins one code point before the first
  // code point that may change, because these two may be composed. It ends before the next code
  // point that cannot change.
  Stretch next_stretch(std::string_view in, size_t from) const {
    const unicode::PropertyTable& table = unicode::properties();
    const char* end = in.data() + in.size();
    const char* before = in.data() + from;
    const char* p = before;
    bool found = false;
    while (p < end) {
      const size_t ascii = unicode::ascii_prefix({p, static_cast<size_t>(end - p)});
      if (ascii > 0) {
        if (found) break;
        p += ascii;
        before = p - 1;
        continue;
      }
      const Decoded d = unicode::decode(p, end);
      const bool maybe = (table[d.code_point] & maybe_) != 0;
      if (found && !maybe) break;
      if (maybe) found = true;
      if (!found) before = p;
      p += d.size;
    }
    const auto offset = [&in](const char* q) { return static_cast<size_t>(q - in.data()); };
    return found ? Stretch{offset(before), offset(p)} : Stretch{in.size(), in.size()};
  }

  bool composes_;
  bool compatibility_;
  uint32_t maybe_ = 0;
};

}  // namespace

void decompose_aligned(AlignedText& text, bool compatibility) {
  CanonicalDecomposer decomposer(compatibility);
  decomposer.add(text.view());
  rewrite_as(decomposer.code_points(), text);
}

std::unique_ptr<Normalizer> make_unicode_normalizer(NormalizationForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}

}  // namespace encode
