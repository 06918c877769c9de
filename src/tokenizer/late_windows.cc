#include "tokenizer/late_windows.h"

#include <algorithm>
#include <span>
#include <string>

#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// Returns where each code point of a text begins, in bytes.
std::vector<uint32_t> code_point_begins(std::string_view utf8) {
  std::vector<uint32_t> begins;
  for (size_t at = 0; at < utf8.size(); ++at) {
    if (!unicode::is_continuation(utf8[at])) begins.push_back(static_cast<uint32_t>(at));
  }
  return begins;
}

}  // namespace

DocumentTokens::DocumentTokens(const PassageSettings& settings, const FramedText& text)
    : settings_(settings) {
  std::string document = settings.prompt;
  document.append(text.before);
  const auto begin = static_cast<int64_t>(document.size());
  document.append(text.text).append(text.after);
  std::vector<TokenOffset> offsets;
  settings.tokenizer.encode_with_offsets(
      document, {.max_length = 0, .add_special_tokens = settings.add_special_tokens}, row_,
      offsets);
  find_text(document, begin, begin + static_cast<int64_t>(text.text.size()), offsets);
}

// Finds the tokens that come from the bytes [text_begin, text_end) of the document: from the first
// one to the last one. A token between them without an offset, or with an offset before that of the
// token before it, counts with the token before.
void DocumentTokens::find_text(std::string_view document, int64_t text_begin, int64_t text_end,
                               const std::vector<TokenOffset>& offsets) {
  const std::vector<uint32_t> begins = code_point_begins(document);
  const auto origin_of = [&](const TokenOffset& offset) -> Origin {
    if (offset.end <= offset.begin) return {.first = -1, .last = -1};
    return {.first = begins[static_cast<size_t>(offset.begin)] - text_begin,
            .last = begins[static_cast<size_t>(offset.end) - 1] - text_begin};
  };
  const auto in_text = [&](const TokenOffset& offset) {
    const int64_t last = origin_of(offset).last;
    return last >= 0 && last < text_end - text_begin;
  };
  const auto first = std::find_if(offsets.begin(), offsets.end(), in_text);
  const auto end = std::find_if(offsets.rbegin(), offsets.rend(), in_text).base();
  for (auto offset = first; offset < end; ++offset) {
    const Origin origin = origin_of(*offset);
    const bool later = origins_.empty() || origin.last >= origins_.back().last;
    origins_.push_back(later ? origin : origins_.back());
  }
  // A token that ends behind the text may contain the end of the text, or all of it.
  const auto crossing = std::find_if(first == offsets.end() ? offsets.begin() : end, offsets.end(),
                                     [&](const TokenOffset& offset) {
                                       const Origin origin = origin_of(offset);
                                       return origin.last >= text_end - text_begin &&
                                              origin.first < text_end - text_begin;
                                     });
  if (crossing != offsets.end()) origins_.push_back(origin_of(*crossing));
  const auto begin = first == offsets.end() ? crossing : first;
  first_ = begin == offsets.end() ? 0 : begin - offsets.begin();
}

// Returns the number of the first token of the text whose last byte is at `byte` or later.
int64_t DocumentTokens::first_token_from(int64_t byte) const {
  return std::ranges::lower_bound(origins_, byte, {}, &Origin::last) - origins_.begin();
}

int64_t DocumentTokens::count_unit(size_t begin, size_t end) {
  return first_token_from(static_cast<int64_t>(end)) -
         first_token_from(static_cast<int64_t>(begin));
}

int64_t DocumentTokens::count_passage(size_t begin, size_t end, TokenizedRows& row) {
  row.clear();
  return count_unit(begin, end);
}

DocumentTokens::RowSpan DocumentTokens::span_of(const Passage& passage) const {
  const int64_t begin = first_token_from(passage.byte_begin);
  const int64_t end = first_token_from(passage.byte_end);
  if (end > begin) return {.begin = first_ + begin, .end = first_ + end};
  const bool contained =
      begin < std::ssize(origins_) && origins_[static_cast<size_t>(begin)].first < passage.byte_end;
  return {.begin = first_ + begin, .end = first_ + begin + (contained ? 1 : 0), .all = !contained};
}

void DocumentTokens::add_windows(CutText& cut) const {
  const std::span<const int32_t> row = row_.row(0);
  const int64_t window = settings_.window_tokens;
  const int64_t step = window - settings_.rule.max_tokens;
  int64_t last = -1;  // the number of the last window
  for (const Passage& passage : cut.passages) {
    const RowSpan span = span_of(passage);
    const int64_t kept = std::min(span.end - span.begin, settings_.rule.max_tokens);
    cut.lost_tokens.push_back(static_cast<int32_t>(span.end - span.begin - kept));
    const int64_t end = span.begin + std::max<int64_t>(kept, 1);
    const int64_t number = (std::max<int64_t>(0, end - window) + step - 1) / step;
    const int64_t begin = number * step;
    const int64_t size = std::min(window, std::ssize(row) - begin);
    if (number != last) {
      cut.first_passages.push_back(std::ssize(cut.spans));
      const std::span<const int32_t> ids =
          row.subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
      cut.sequences.ids.insert(cut.sequences.ids.end(), ids.begin(), ids.end());
      cut.sequences.end_row();
      last = number;
    }
    const int64_t first = span.all ? 0 : span.begin - begin;
    cut.spans.push_back({.begin = static_cast<int32_t>(first),
                         .end = static_cast<int32_t>(span.all ? size : first + kept)});
  }
  cut.first_passages.push_back(std::ssize(cut.spans));
}

}  // namespace encode
