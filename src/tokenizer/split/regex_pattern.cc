#include "tokenizer/split/regex_pattern.h"

#include <fmt/format.h>

#include <pcre2.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/units.h"
#include "tokenizer/split/regex_translation.h"
#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// The limit for the backtracking steps of one match. Real split patterns need far fewer steps. A
// match that reaches the limit takes less than a second.
constexpr uint32_t kMatchLimit = 10'000'000;

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string message_of(int error) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

// Returns `text` with each character that PCRE2's Unicode tables do not know replaced by a
// character of the same category and size. (The tables of Oniguruma are newer.) Returns an empty
// string if nothing has to be replaced.
std::string with_older_categories(std::string_view text) {
  std::string result;
  const char* end = text.data() + text.size();
  for (const char* p = text.data() + unicode::ascii_prefix(text); p < end;) {
    const unicode::Decoded d = unicode::decode(p, end);
    char32_t older =
        d.code_point < 0x80 ? d.code_point : unicode::with_older_category(d.code_point);
    if (d.code_point == 0xFFFD && d.size == 1) older = '?';  // PCRE2 must not see invalid UTF-8
    if (older != d.code_point) {
      if (result.empty()) result = text;
      std::string utf8;
      unicode::append_utf8(utf8, older);
      result.replace(static_cast<size_t>(p - text.data()), d.size, utf8);
    }
    p += d.size;
  }
  return result;
}

class Pcre2Pattern final : public TextPattern {
 public:
  Pcre2Pattern(const std::string& regex, const std::string& where) : regex_(regex) {
    const TranslatedRegex translated = translate_regex(regex, where);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(translated.pattern.data()), translated.pattern.size(),
        PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
    if (code_ == nullptr) {
      refuse_format("malformed regular expression", where, "a regular expression",
                    fmt::format("'{}': {} at offset {}", preview(regex), message_of(error),
                                offset < translated.origins.size() ? translated.origins[offset]
                                                                   : regex.size()));
    }
    uint32_t matches_empty = 0;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty != 0) {
      refuse_unsupported(
          fmt::format("regular expression '{}' is not supported: it can match the empty string",
                      preview(regex)),
          where,
          {.expected = "a regular expression that matches at least one character",
           .found = fmt::format("'{}'", preview(regex))});
    }
    // A failure is ignored, because PCRE2 then interprets the pattern and finds the same matches.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
    context_.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context_.get(), kMatchLimit);
  }

  void find_all(std::string_view text, uint32_t base, std::vector<Match>& matches) const override {
    const std::unique_ptr<pcre2_match_data, FreeMatchData> data(
        pcre2_match_data_create(1, nullptr));
    const auto push = [&](size_t begin, size_t end, bool is_match) {
      if (begin < end) {
        matches.push_back(
            {base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(end), is_match});
      }
    };
    const std::string older = with_older_categories(text);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(older.empty() ? text.data() : older.data());
    size_t done = 0;
    while (done < text.size()) {
      const int found = pcre2_match(code_.get(), subject, text.size(), done, PCRE2_NO_UTF_CHECK,
                                    data.get(), context_.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) fail(found);
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
      push(done, span[0], false);
      push(span[0], span[1], true);
      done = span[1];
    }
    push(done, text.size(), false);
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw Error({.code = "tokenizer.regex",
                 .what = "the tokenizer's regular expression fails on a text",
                 .where = std::string(kUnnamedRow),
                 .expected = preview(regex_),
                 .found = message_of(error),
                 .hint = "split or shorten the row, or choose another model: the pattern needs too "
                         "many steps for this text"});
  }

  std::string regex_;
  std::unique_ptr<pcre2_code, FreeCode> code_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
};

}  // namespace

std::unique_ptr<TextPattern> make_pcre2_pattern(const std::string& regex,
                                                const std::string& where) {
  return std::make_unique<Pcre2Pattern>(regex, where);
}

}  // namespace encode
