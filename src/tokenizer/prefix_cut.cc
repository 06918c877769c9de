#include "tokenizer/prefix_cut.h"

#include <algorithm>
#include <string>

#include "encode/error.h"

#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool spans_words(std::string_view token) {
  for (size_t i = 0; i + 1 < token.size(); ++i) {
    const std::string_view rest = token.substr(i + 1);
    if (is_letter(token[i]) && (rest.front() == ' ' || rest.starts_with(unicode::kMetaspaceUtf8)))
      return true;
  }
  return false;
}

struct NormalizedBorder {
  char letter = 0;
  WordBorder border = WordBorder::kUnknown;
};

// Returns what the normalizer makes of `letter` and a space after it, inside a text.
NormalizedBorder normalize_border(const Normalizer* normalizer, char letter) {
  if (normalizer == nullptr) return {letter, WordBorder::kSpace};
  if (!normalizer->is_local()) return {};
  const std::string sample = {'m', letter, ' ', 'n'};
  RewriteBudget budget(sample.size());
  TextBuffer text;
  text.reset(sample, true, &budget);
  try {
    normalizer->normalize(text);
  } catch (const Error&) {
    return {};  // a row with this letter fails in the same way
  }
  std::string_view view = text.view();
  if (view.empty() || !is_letter(view.back())) return {};
  view.remove_suffix(1);
  const bool is_space = view.ends_with(' ');
  if (!is_space && !view.ends_with(unicode::kMetaspaceUtf8)) return {};
  view.remove_suffix(is_space ? 1 : unicode::kMetaspaceUtf8.size());
  if (view.empty() || !is_letter(view.back())) return {};
  return {view.back(), is_space ? WordBorder::kSpace : WordBorder::kMetaspace};
}

bool cuts_after(const PipelineParts& parts, char letter) {
  const NormalizedBorder normalized = normalize_border(parts.normalizer.get(), letter);
  WordBorder border = normalized.border;
  if (border == WordBorder::kUnknown) return false;
  if (parts.pre_tokenizer != nullptr)
    border = parts.pre_tokenizer->word_border(normalized.letter, border);
  if (border == WordBorder::kUnknown) return false;
  return border == WordBorder::kCut || parts.model->cuts_between(normalized.letter, border);
}

}  // namespace

PrefixCut::PrefixCut(const PipelineParts& parts) {
  if (parts.raw_tokens.any_pattern(spans_words) || parts.normalized_tokens.any_pattern(spans_words))
    return;
  for (size_t c = 0; c < 128; ++c)
    ends_word_[c] = is_letter(static_cast<char>(c)) && cuts_after(parts, static_cast<char>(c));
  possible_ = std::any_of(ends_word_.begin(), ends_word_.end(), [](bool cuts) { return cuts; });
}

size_t PrefixCut::find(std::string_view utf8, size_t at) const {
  if (!possible_ || utf8.size() < 3) return 0;
  for (size_t i = std::min(at, utf8.size() - 2); i > 0; --i) {
    if (utf8[i] == ' ' && ends_word_[static_cast<unsigned char>(utf8[i - 1])] &&
        is_letter(utf8[i + 1]))
      return i;
  }
  return 0;
}

}  // namespace encode
