#include "job/slice_tokenizer.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <utility>

#include "encode/error.h"

#include "base/vocabulary_limit.h"
#include "tokenizer/passages.h"

namespace encode {
namespace {

// Appends the token ids of one row, cut to `max_length` (0: no limit).
void append_ids(const std::vector<int32_t>& ids, int64_t max_length, TokenizedRows& rows) {
  const auto size = static_cast<int64_t>(ids.size());
  const int64_t kept = max_length > 0 ? std::min(size, max_length) : size;
  rows.ids.insert(rows.ids.end(), ids.begin(), ids.begin() + kept);
  rows.end_row(size - kept);
}

// Appends values that count from 0 in each part, without the 0 at their begin.
void append_offsets(std::span<const int64_t> part, std::vector<int64_t>& whole) {
  if (part.empty()) return;
  if (whole.empty()) whole.push_back(0);
  const int64_t base = whole.back();
  for (const int64_t offset : part.subspan(1)) whole.push_back(base + offset);
}

template <typename T>
void append_all(const std::vector<T>& part, std::vector<T>& whole) {
  whole.insert(whole.end(), part.begin(), part.end());
}

void append(const SequenceVectors& part, SequenceVectors& whole) {
  append_offsets(part.offsets, whole.offsets);
  append_all(part.spans, whole.spans);
}

void append(TokenizedTexts part, TokenizedTexts& whole) {
  whole.sequences.append(part.sequences);
  append(part.vectors, whole.vectors);
  append_all(part.passages, whole.passages);
  append_all(part.lost_tokens, whole.lost_tokens);
  std::move(part.refused.begin(), part.refused.end(), std::back_inserter(whole.refused));
}

}  // namespace

void append(const TokenizedTexts& part, Sequences& whole) {
  whole.ids.append(part.sequences);
  append(part.vectors, whole.vectors);
}

TokenizedTexts SliceTokenizer::run(const std::vector<Text>& texts) {
  const int64_t count = std::ssize(texts);
  const int64_t slices = std::min<int64_t>(count, plan_.threads == 1 ? 1 : plan_.threads * 4);
  std::vector<TokenizedTexts> parts(static_cast<size_t>(slices));
  pool_.run(slices, [&](int64_t slice) {
    TokenizedTexts& part = parts[static_cast<size_t>(slice)];
    TokenizedRows& rows = part.sequences;
    for (int64_t i = count * slice / slices; i < count * (slice + 1) / slices; ++i) {
      const Text& text = texts[static_cast<size_t>(i)];
      const int64_t first = rows.size();
      if (plan_.cutter) {
        cut(text, i, part);
      } else if (text.tokenized) {
        append_ids(text.input_ids, plan_.options.max_length, rows);
      } else {
        tokenize(text, rows);
      }
      for (int64_t row = first; row < rows.size(); ++row) check_ids(text, rows.row(row));
    }
  });
  if (parts.size() == 1) return std::move(parts.front());
  TokenizedTexts whole;
  for (TokenizedTexts& part : parts) append(std::move(part), whole);
  return whole;
}

void SliceTokenizer::tokenize(const Text& text, TokenizedRows& rows) const {
  try {
    plan_.tokenizer->encode(text.utf8, plan_.options, rows);
  } catch (const Error& error) {
    throw naming_row(error, text.place());
  }
}

void SliceTokenizer::cut(const Text& text, int64_t number, TokenizedTexts& part) const {
  if (text.tokenized) return;  // the row was set aside
  CutText cut;
  try {
    cut = plan_.cutter->cut(text.framed());
  } catch (const Error& error) {
    if (const ErrorDetail& detail = error.detail(); refuses_row(detail.code)) {
      part.refused.push_back({.row = number,
                              .code = std::string(detail.code.name()),
                              .message = fmt::format("{}: expected {}, found {}; {}", detail.what,
                                                     detail.expected, detail.found, detail.hint)});
      return;
    }
    throw naming_row(error, text.place());
  }
  for (int64_t i = 0; i < std::ssize(cut.passages); ++i) {
    const Passage& passage = cut.passages[static_cast<size_t>(i)];
    part.passages.push_back({.row = number,
                             .passage = i,
                             .byte_begin = passage.byte_begin,
                             .byte_end = passage.byte_end,
                             .char_begin = passage.char_begin,
                             .char_end = passage.char_end,
                             .tokens = cut.tokens(i)});
    part.lost_tokens.push_back(cut.lost_tokens[static_cast<size_t>(i)]);
  }
  part.sequences.append(cut.sequences);
  append({.offsets = std::move(cut.first_passages), .spans = std::move(cut.spans)}, part.vectors);
}

// Checked here, because the error names the row, which the engine does not know.
void SliceTokenizer::check_ids(const Text& text, std::span<const int32_t> ids) const {
  if (plan_.vocab_size == 0) return;
  auto error = outside_vocabulary(ids, plan_.vocab_size,
                                  text.tokenized ? IdSource::kInput : IdSource::kTokenizer);
  if (!error) return;
  error->where = text.place();
  throw Error(*std::move(error));
}

}  // namespace encode
