#include "job/slice_tokenizer.h"

#include <algorithm>
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
  rows.offsets.push_back(static_cast<int64_t>(rows.ids.size()));
  rows.lost_tokens.push_back(static_cast<int32_t>(size - kept));
}

void append(TokenizedTexts part, TokenizedTexts& whole) {
  append(part.sequences, whole.sequences);
  whole.passages.insert(whole.passages.end(), part.passages.begin(), part.passages.end());
}

}  // namespace

void append(const TokenizedRows& part, TokenizedRows& whole) {
  const int64_t base = whole.offsets.back();
  whole.ids.insert(whole.ids.end(), part.ids.begin(), part.ids.end());
  for (size_t i = 1; i < part.offsets.size(); ++i) whole.offsets.push_back(base + part.offsets[i]);
  whole.lost_tokens.insert(whole.lost_tokens.end(), part.lost_tokens.begin(),
                           part.lost_tokens.end());
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
  std::vector<Passage> passages;
  const int64_t first = part.sequences.size();
  try {
    plan_.cutter->cut(text.utf8, passages, part.sequences);
  } catch (const Error& error) {
    throw naming_row(error, text.place());
  }
  for (int64_t i = 0; i < std::ssize(passages); ++i) {
    const Passage& passage = passages[static_cast<size_t>(i)];
    part.passages.push_back({.row = number,
                             .passage = i,
                             .byte_begin = passage.byte_begin,
                             .byte_end = passage.byte_end,
                             .char_begin = passage.char_begin,
                             .char_end = passage.char_end,
                             .tokens = std::ssize(part.sequences.row(first + i))});
  }
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
