#include "tokenizer/normalize/simple_normalizers.h"

#include <utility>

#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/split/text_pattern.h"
#include "tokenizer/unicode/byte_level.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using unicode::Decoded;

// Maps each code point by itself. A `Rule` states:
// - kKeepsAscii: whether it keeps all ASCII characters;
// - keeps(code_point, properties): whether it keeps this code point;
// - replace(code_point, add): passes the new code points of any other code point to `add`.
template <typename Rule>
class CodePointNormalizer final : public Normalizer {
 public:
  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    if (Rule::kKeepsAscii && unicode::ascii_prefix(in) == in.size()) return;
    const unicode::PropertyTable& table = unicode::properties();
    std::string& out = text.spare();
    out.reserve(in.size());
    const char* end = in.data() + in.size();
    for (const char* p = in.data(); p < end;) {
      const Decoded d = unicode::decode(p, end);
      if (Rule::keeps(d.code_point, table[d.code_point])) {
        out.append(p, d.size);
      } else {
        Rule::replace(d.code_point, [&out](char32_t c) { unicode::append_utf8(out, c); });
      }
      if (p == in.data() && out.empty()) text.leave_origin();
      p += d.size;
    }
    text.commit();
  }
  void normalize_aligned(AlignedText& text) const override {
    const unicode::PropertyTable& table = unicode::properties();
    text.map([&table](char32_t c, auto&& add) {
      if (Rule::keeps(c, table[c])) return add(c);
      Rule::replace(c, add);
    });
  }
};

struct LowercaseRule {
  static constexpr bool kKeepsAscii = false;
  static bool keeps(char32_t /*c*/, uint32_t properties) {
    return (properties & unicode::kHasLower) == 0;
  }
  template <typename Add>
  static void replace(char32_t c, Add&& add) {
    if (c < 0x80) return add(c + ('a' - 'A'));
    for (const uint32_t lower : unicode::lowercase(c)) add(lower);
  }
};

struct StripAccentsRule {
  static constexpr bool kKeepsAscii = true;
  static bool keeps(char32_t /*c*/, uint32_t properties) {
    return (properties & unicode::kCombiningMark) == 0;
  }
  template <typename Add>
  static void replace(char32_t /*c*/, Add&& /*add*/) {}
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    const unicode::PropertyTable& table = unicode::properties();
    const char* begin = in.data();
    const char* end = begin + in.size();
    const auto is_space = [&table](const Decoded& d) {
      return (table[d.code_point] & unicode::kWhitespace) != 0;
    };
    while (left_ && begin < end) {
      const Decoded d = unicode::decode(begin, end);
      if (!is_space(d)) break;
      begin += d.size;
    }
    while (right_ && begin < end) {
      const Decoded d = unicode::decode_before(begin, end);
      if (!is_space(d)) break;
      end -= d.size;
    }
    if (begin != in.data()) text.leave_origin();
    text.narrow({begin, static_cast<size_t>(end - begin)});
  }

  void normalize_aligned(AlignedText& text) const override {
    TextBuffer stripped;
    stripped.reset(text.view(), true);
    normalize(stripped);
    const auto begin = static_cast<size_t>(stripped.view().data() - text.view().data());
    text.narrow(begin, begin + stripped.view().size());
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  void normalize(TextBuffer& text) const override {
    if (text.view().empty()) return;
    std::string& out = text.spare();
    out.reserve(prefix_.size() + text.view().size());
    out += prefix_;
    out += text.view();
    text.commit();
  }

  void normalize_aligned(AlignedText& text) const override { text.prepend(prefix_); }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::unique_ptr<TextPattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    std::vector<Match> matches;
    pattern_->find_all(in, 0, matches);
    if (std::none_of(matches.begin(), matches.end(), [](const Match& m) { return m.is_match; }))
      return;
    std::string& out = text.spare();
    out.reserve(in.size());
    for (const Match& match : matches) {
      const std::string_view part = in.substr(match.begin, match.end - match.begin);
      out += match.is_match ? std::string_view(content_) : part;
      text.check_growth();
    }
    const Match& first = matches.front();
    const bool one_code_point =
        unicode::decode(in.data() + first.begin, in.data() + first.end).size ==
        first.end - first.begin;
    // A replacement counts as coming from the last code point of its match. If the text begins with
    // a match of several code points, or with a match that is deleted, the new first character no
    // longer comes from the first character of the row (see TextBuffer::at_origin()).
    if (first.is_match && (content_.empty() || !one_code_point)) text.leave_origin();
    text.commit();
  }

  void normalize_aligned(AlignedText& text) const override {
    std::vector<Match> matches;
    pattern_->find_all(text.view(), 0, matches);
    text.replace(matches, content_);
  }

 private:
  std::unique_ptr<TextPattern> pattern_;
  std::string content_;
};

// Replaces one ASCII character, without a list of matches. This is faster, and the most common
// Replace is of this kind (' ' by U+2581).
class ReplaceByte final : public Normalizer {
 public:
  ReplaceByte(char from, std::string content) : from_(from), content_(std::move(content)) {}

  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    size_t at = in.find(from_);
    if (at == std::string_view::npos) return;
    std::string& out = text.spare();
    out.reserve(in.size() + in.size() / 2);
    size_t done = 0;
    for (; at != std::string_view::npos; at = in.find(from_, done)) {
      out.append(in, done, at - done);
      out += content_;
      text.check_growth();
      done = at + 1;
    }
    out.append(in, done, in.size() - done);
    if (content_.empty() && in.front() == from_) text.leave_origin();
    text.commit();
  }

  void normalize_aligned(AlignedText& text) const override {
    std::vector<Match> matches;
    make_literal_pattern({from_})->find_all(text.view(), 0, matches);
    text.replace(matches, content_);
  }

 private:
  char from_;
  std::string content_;
};

struct NmtRule {
  static constexpr bool kKeepsAscii = false;
  static bool keeps(char32_t c, uint32_t /*properties*/) { return !is_dropped(c) && !is_space(c); }
  template <typename Add>
  static void replace(char32_t c, Add&& add) {
    if (is_space(c)) add(U' ');
  }
  static bool is_dropped(char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
           c == 0x8F || c == 0x9F;
  }
  static bool is_space(char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xFEFF || c == 0xFFFD;
  }
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  void normalize(TextBuffer& text) const override {
    std::string& out = text.spare();
    append_byte_level(text.view(), out);
    text.commit();
  }
  void normalize_aligned(AlignedText& text) const override {
    Rewriting rewriting;
    std::string spelled;
    for (const char byte : text.view()) {
      spelled.clear();
      append_byte_level({&byte, 1}, spelled);
      const char32_t c =
          unicode::decode(spelled.data(), spelled.data() + spelled.size()).code_point;
      rewriting.add(c, unicode::is_continuation(byte) ? 1 : 0);
    }
    text.rewrite(rewriting);
  }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps_(std::move(steps)) {}
  void normalize(TextBuffer& text) const override {
    for (const auto& step : steps_) step->normalize(text);
  }

  void normalize_aligned(AlignedText& text) const override {
    for (const auto& step : steps_) step->normalize_aligned(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

void lowercase_aligned(AlignedText& text) {
  CodePointNormalizer<LowercaseRule>().normalize_aligned(text);
}

std::unique_ptr<Normalizer> make_lowercase_normalizer() {
  return std::make_unique<CodePointNormalizer<LowercaseRule>>();
}
std::unique_ptr<Normalizer> make_strip_accents_normalizer() {
  return std::make_unique<CodePointNormalizer<StripAccentsRule>>();
}
std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}
std::unique_ptr<Normalizer> make_nmt_normalizer() {
  return std::make_unique<CodePointNormalizer<NmtRule>>();
}
std::unique_ptr<Normalizer> make_byte_level_normalizer() {
  return std::make_unique<ByteLevelNormalizer>();
}
std::unique_ptr<Normalizer> make_replace_normalizer(std::unique_ptr<TextPattern> pattern,
                                                    std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
std::unique_ptr<Normalizer> make_replace_byte_normalizer(char from, std::string content) {
  return std::make_unique<ReplaceByte>(from, std::move(content));
}
std::unique_ptr<Normalizer> make_normalizer_sequence(
    std::vector<std::unique_ptr<Normalizer>> steps) {
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

}  // namespace encode
