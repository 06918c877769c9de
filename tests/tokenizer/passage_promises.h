// Cuts texts for tests, and checks the promises of tokenizer/passages.h.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/passages.h"
#include "tokenizer/unicode/grapheme_break.h"
#include "tokenizer/unicode/unicode.h"

namespace encode::testing {

struct Cut {
  std::vector<Passage> passages;
  TokenizedRows rows;
};

inline Cut cut_framed(const Tokenizer& tokenizer, const PassageRule& rule, const FramedText& text,
                      const std::string& prompt) {
  CutText cut =
      PassageCutter({.tokenizer = tokenizer, .rule = rule, .prompt = prompt}, "a test").cut(text);
  return {.passages = std::move(cut.passages), .rows = std::move(cut.sequences)};
}

inline Cut cut_text(const Tokenizer& tokenizer, const PassageRule& rule, std::string_view text) {
  return cut_framed(tokenizer, rule, {.text = text}, "");
}

inline std::string_view text_of(std::string_view text, const Passage& passage) {
  return text.substr(static_cast<size_t>(passage.byte_begin),
                     static_cast<size_t>(passage.byte_end - passage.byte_begin));
}

inline std::vector<std::string> texts_of(std::string_view text, const Cut& cut) {
  std::vector<std::string> texts;
  for (const Passage& passage : cut.passages) texts.emplace_back(text_of(text, passage));
  return texts;
}

inline int64_t code_points(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return !unicode::is_continuation(c); });
}

inline std::set<size_t> cluster_starts(std::string_view text) {
  std::set<size_t> starts = {0};
  for (size_t at = 0; at < text.size(); starts.insert(at)) at = unicode::cluster_end(text, at);
  return starts;
}

// Words, sentences, and the characters that make clusters of several code points.
inline std::string random_text(std::mt19937& random, int pieces) {
  static const std::vector<std::string> kPieces = {"word",
                                                   "Sentence",
                                                   " ",
                                                   " ",
                                                   " ",
                                                   ". ",
                                                   ".",
                                                   "? ",
                                                   "\n",
                                                   "\n\n",
                                                   "\r\n",
                                                   "\u3002",
                                                   "\u5B57",
                                                   "\u6587",
                                                   "e\u0301",
                                                   "\u0600",
                                                   "\u200D",
                                                   "\U0001F468\u200D\U0001F469",
                                                   "\U0001F1E9",
                                                   "\u1100",
                                                   "\u1161",
                                                   "\u0E01\u0E33",
                                                   "\u203C",
                                                   "3.5",
                                                   "\u0308",
                                                   "\u2029",
                                                   "x\u0308\u0308",
                                                   "\u3042",
                                                   "Mr. ",
                                                   "(\")",
                                                   "\u00A0",
                                                   "\t"};
  std::string text;
  for (int i = 0; i < pieces; ++i) {
    if (random() % 20 == 0) {
      char32_t c = random() % 0x30000;
      if (c >= 0xD800 && c <= 0xDFFF) c = 0xFFFD;
      unicode::append_utf8(text, c);
    } else {
      text += kPieces[random() % kPieces.size()];
    }
  }
  return text;
}

// Checks the promises of PassageCutter::cut() for the places of the passages of `text`.
inline void expect_places(std::string_view text, const std::vector<Passage>& passages,
                          int64_t overlap) {
  const std::set<size_t> clusters = cluster_starts(text);
  ASSERT_FALSE(passages.empty());
  EXPECT_EQ(passages.front().byte_begin, 0);
  EXPECT_EQ(passages.back().byte_end, static_cast<int64_t>(text.size()));
  for (size_t i = 0; i < passages.size(); ++i) {
    const Passage& passage = passages[i];
    ASSERT_LE(passage.byte_begin, passage.byte_end);
    EXPECT_TRUE(clusters.contains(static_cast<size_t>(passage.byte_begin)));
    EXPECT_TRUE(clusters.contains(static_cast<size_t>(passage.byte_end)));
    const auto bytes_before = static_cast<size_t>(passage.byte_begin);
    EXPECT_EQ(passage.char_begin, code_points(text.substr(0, bytes_before)));
    EXPECT_EQ(passage.char_end - passage.char_begin, code_points(text_of(text, passage)));
    if (i == 0) continue;
    const Passage& before = passages[i - 1];
    EXPECT_LE(passage.byte_begin, before.byte_end);
    EXPECT_GT(passage.byte_begin, before.byte_begin);
    EXPECT_GT(passage.byte_end, before.byte_end);
    if (overlap == 0) {
      EXPECT_EQ(passage.byte_begin, before.byte_end);
    }
  }
}

inline void expect_promises(const Tokenizer& tokenizer, const PassageRule& rule,
                            const FramedText& framed, const std::string& prompt) {
  const Cut cut = cut_framed(tokenizer, rule, framed, prompt);
  const std::string_view text = framed.text;
  expect_places(text, cut.passages, rule.overlap);
  ASSERT_EQ(cut.rows.size(), static_cast<int64_t>(cut.passages.size()));
  for (size_t i = 0; i < cut.passages.size(); ++i) {
    const Passage& passage = cut.passages[i];
    TokenizedRows alone;
    std::string encoded = prompt;
    encoded.append(framed.before).append(text_of(text, passage)).append(framed.after);
    tokenizer.encode(encoded, {.max_length = rule.max_tokens}, alone);
    const auto row = cut.rows.row(static_cast<int64_t>(i));
    EXPECT_TRUE(std::ranges::equal(row, alone.row(0)));
    EXPECT_EQ(cut.rows.lost_tokens[i], alone.lost_tokens[0]);
    EXPECT_LE(static_cast<int64_t>(row.size()), rule.max_tokens);
    if (cut.rows.lost_tokens[i] > 0) {
      EXPECT_EQ(unicode::cluster_end(text, static_cast<size_t>(passage.byte_begin)),
                static_cast<size_t>(passage.byte_end));
    }
  }
}

inline CutText cut_late(const Tokenizer& tokenizer, const PassageRule& rule, const FramedText& text,
                        int64_t window_tokens) {
  return PassageCutter(
             {.tokenizer = tokenizer, .rule = rule, .prompt = "", .window_tokens = window_tokens},
             "a test")
      .cut(text);
}

// Returns the number of the window of `row` that `ids` are, from `first` on; -1 if there is none.
inline int64_t window_number(std::span<const int32_t> ids, std::span<const int32_t> row,
                             int64_t first, int64_t step) {
  for (int64_t number = first; number * step < std::ssize(row) || number == 0; ++number) {
    const auto rest = row.subspan(static_cast<size_t>(number * step));
    if (rest.size() >= ids.size() && std::ranges::equal(rest.first(ids.size()), ids)) return number;
  }
  return -1;
}

// Checks the promises of PassageCutter::cut() for passages whose vectors are late.
inline void expect_windows(const Tokenizer& tokenizer, const PassageRule& rule,
                           const FramedText& framed, int64_t window_tokens) {
  const CutText cut = cut_late(tokenizer, rule, framed, window_tokens);
  expect_places(framed.text, cut.passages, rule.overlap);
  TokenizedRows whole;
  std::string document(framed.before);
  document.append(framed.text).append(framed.after);
  tokenizer.encode(document, {.max_length = 0}, whole);
  const int64_t step = window_tokens - rule.max_tokens;
  ASSERT_EQ(cut.spans.size(), cut.passages.size());
  ASSERT_EQ(cut.lost_tokens.size(), cut.passages.size());
  ASSERT_EQ(std::ssize(cut.first_passages), cut.sequences.size() + 1);
  EXPECT_EQ(cut.first_passages.front(), 0);
  EXPECT_EQ(cut.first_passages.back(), std::ssize(cut.passages));
  int64_t number = -1;
  int64_t last_end = 0;
  for (int64_t i = 0; i < cut.sequences.size(); ++i) {
    const std::span<const int32_t> ids = cut.sequences.row(i);
    const auto first = static_cast<size_t>(cut.first_passages[static_cast<size_t>(i)]);
    const auto end = static_cast<size_t>(cut.first_passages[static_cast<size_t>(i) + 1]);
    ASSERT_LT(first, end);
    // A passage without a token has all tokens of its window, and says nothing about the order.
    const auto has_all = [&](const TokenSpan& span) {
      return span.begin == 0 && span.end == std::ssize(ids);
    };
    // Windows of a text that repeats itself may be equal, so the passages decide which one it is.
    do {
      number = window_number(ids, whole.row(0), number + 1, step);
      ASSERT_GE(number, 0);
    } while (!has_all(cut.spans[first]) && number * step + cut.spans[first].end < last_end);
    EXPECT_EQ(std::ssize(ids), std::min(window_tokens, std::ssize(whole.row(0)) - number * step));
    for (size_t passage = first; passage < end; ++passage) {
      const TokenSpan& span = cut.spans[passage];
      ASSERT_TRUE(0 <= span.begin && span.begin <= span.end && span.end <= std::ssize(ids));
      if (has_all(span)) continue;
      EXPECT_LE(span.end - span.begin, rule.max_tokens);
      EXPECT_GE(number * step + span.end, last_end);
      last_end = number * step + span.end;
    }
  }
}

}  // namespace encode::testing
