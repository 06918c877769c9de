#include "tokenizer/normalize/bert_normalizer.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/normalize/simple_normalizers.h"
#include "tokenizer/normalize/unicode_normalizer.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using unicode::Decoded;

// The entry of the table of ASCII characters for a character that is removed.
constexpr char kDropped = '\x80';

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options) : options_(options) {
    const unicode::PropertyTable& table = unicode::properties();
    for (size_t c = 0; c < ascii_.size(); ++c) {
      ascii_[c] = static_cast<char>(c);
      const uint32_t properties = table[static_cast<char32_t>(c)];
      if (options.lowercase && c >= 'A' && c <= 'Z') ascii_[c] = static_cast<char>(c + ('a' - 'A'));
      if (!options.clean_text) continue;
      if ((properties & unicode::kWhitespace) != 0) ascii_[c] = ' ';
      if ((properties & unicode::kControl) != 0) ascii_[c] = kDropped;
    }
  }

  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    std::string& out = text.spare();
    out.resize(in.size());
    CanonicalDecomposer decomposer(false);
    std::string stretch;
    size_t i = 0;
    size_t written = 0;
    while (i < in.size()) {
      const size_t ascii = unicode::ascii_prefix(in.substr(i));
      written += map_ascii(in.substr(i, ascii), out.data() + written);
      i += ascii;
      if (i == in.size()) break;
      stretch.clear();
      i = normalize_stretch(in, i, decomposer, stretch);
      // Never shrinks the buffer here, because std::string writes zeros each time it grows again.
      out.resize(std::max(out.size(), written + stretch.size() + (in.size() - i)));
      stretch.copy(out.data() + written, stretch.size());
      written += stretch.size();
    }
    out.resize(written);
    if (loses_first(in)) text.leave_origin();
    text.commit();
  }

  // The four steps run one after the other, because each of them changes the alignment.
  void normalize_aligned(AlignedText& text) const override {
    if (options_.clean_text) clean_aligned(text);
    if (options_.handle_chinese_chars) space_chinese_aligned(text);
    if (options_.strip_accents) {
      decompose_aligned(text, false);
      text.map([](char32_t c, auto&& add) {
        if ((unicode::properties()[c] & unicode::kNonspacingMark) == 0) add(c);
      });
    }
    if (options_.lowercase) lowercase_aligned(text);
  }

 private:
  static void clean_aligned(AlignedText& text) {
    const unicode::PropertyTable& table = unicode::properties();
    text.map([&table](char32_t c, auto&& add) {
      if ((table[c] & unicode::kControl) != 0) return;
      add((table[c] & unicode::kWhitespace) != 0 ? U' ' : c);
    });
  }

  static void space_chinese_aligned(AlignedText& text) {
    text.map([](char32_t c, auto&& add) {
      const bool is_chinese = (unicode::properties()[c] & unicode::kChinese) != 0;
      if (is_chinese) add(U' ');
      add(c);
      if (is_chinese) add(U' ');
    });
  }

  size_t map_ascii(std::string_view in, char* out) const {
    char* p = out;
    for (const char c : in) {
      const char mapped = ascii_[static_cast<unsigned char>(c)];
      *p = mapped;
      p += mapped == kDropped ? 0 : 1;
    }
    return static_cast<size_t>(p - out);
  }

  // Appends the normal form of the non-ASCII characters from `i` on, and returns their end. ASCII
  // characters that are removed do not end this stretch, because the marks on both sides of them
  // are sorted together.
  size_t normalize_stretch(std::string_view in, size_t i, CanonicalDecomposer& decomposer,
                           std::string& out) const {
    const unicode::PropertyTable& table = unicode::properties();
    const char* end = in.data() + in.size();
    const char* p = in.data() + i;
    decomposer.clear();
    while (p < end && (static_cast<unsigned char>(*p) >= 0x80 ||
                       ascii_[static_cast<unsigned char>(*p)] == kDropped)) {
      const Decoded d = unicode::decode(p, end);
      p += d.size;
      add(d.code_point, table[d.code_point], decomposer);
    }
    for (const auto& mark : decomposer.code_points()) emit(mark.code_point, out);
    return static_cast<size_t>(p - in.data());
  }

  void add(char32_t c, uint32_t properties, CanonicalDecomposer& decomposer) const {
    if (options_.clean_text) {
      if ((properties & unicode::kControl) != 0) return;
      if ((properties & unicode::kWhitespace) != 0) c = ' ';
    }
    const bool spaced = options_.handle_chinese_chars && (properties & unicode::kChinese) != 0;
    if (spaced) decomposer.push_as_is(' ');
    if (options_.strip_accents) {
      decomposer.add(c);
    } else {
      decomposer.push_as_is(c);
    }
    if (spaced) decomposer.push_as_is(' ');
  }

  void emit(char32_t c, std::string& out) const {
    const uint32_t properties = unicode::properties()[c];
    if (options_.strip_accents && (properties & unicode::kNonspacingMark) != 0) return;
    if (options_.lowercase && (properties & unicode::kHasLower) != 0) {
      for (const uint32_t lower : unicode::lowercase(c)) unicode::append_utf8(out, lower);
    } else {
      unicode::append_utf8(out, c);
    }
  }

  bool loses_first(std::string_view in) const {
    if (in.empty()) return false;
    const uint32_t first =
        unicode::properties()[unicode::decode(in.data(), in.data() + in.size()).code_point];
    return (options_.clean_text && (first & unicode::kControl) != 0) ||
           (options_.strip_accents && (first & unicode::kNonspacingMark) != 0);
  }

  BertNormalizerOptions options_;
  std::array<char, 128> ascii_{};
};

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace encode
