// Tests the windows of texts whose passages are encoded in their context.
#include "tokenizer/late_windows.h"

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "golden_cases.h"
#include "passage_promises.h"

namespace encode {
namespace {

using testing::cut_late;
using testing::expect_windows;
using testing::load_family;
using testing::random_text;

TEST(LateWindows, HaveEveryPassageForRandomTexts) {
  std::mt19937 random(9);
  for (const std::string family : {"wordpiece", "gpt2", "llama2", "unigram", "gemma"}) {
    const auto tokenizer = load_family(family);
    for (int i = 0; i < 150; ++i) {
      const std::string before = random_text(random, static_cast<int>(random() % 9));
      const std::string text = random_text(random, static_cast<int>(random() % 400));
      const std::string after = random_text(random, static_cast<int>(random() % 9));
      PassageRule rule = {.max_tokens = 1 + static_cast<int64_t>(random() % 40),
                          .by = static_cast<PassageUnit>(random() % 3),
                          .vectors = PassageVectors::kLate};
      if (random() % 2 == 0) rule.overlap = static_cast<int64_t>(random()) % rule.max_tokens;
      const int64_t window_tokens = 2 * rule.max_tokens + static_cast<int64_t>(random() % 60);
      expect_windows(*tokenizer, rule, {.before = before, .text = text, .after = after},
                     window_tokens);
      if (::testing::Test::HasFailure()) {
        FAIL() << family << " max_tokens " << rule.max_tokens << " overlap " << rule.overlap
               << " window " << window_tokens << " before '" << before << "' text '" << text
               << "' after '" << after << "'";
      }
    }
  }
}

// The tokens of the passages, counted over the whole row: those whose last character is in the
// passage.
TEST(LateWindows, SpansAreTheTokensThatEndInAPassage) {
  std::mt19937 random(10);
  for (const std::string family : {"wordpiece", "gpt2", "llama2", "unigram", "gemma"}) {
    const auto tokenizer = load_family(family);
    for (int i = 0; i < 60; ++i) {
      const std::string text = random_text(random, static_cast<int>(random() % 200));
      const PassageRule rule = {.max_tokens = 8, .overlap = 2, .vectors = PassageVectors::kLate};
      constexpr int64_t kWindow = 20;
      const CutText cut = cut_late(*tokenizer, rule, {.text = text}, kWindow);
      TokenizedRows row;
      std::vector<TokenOffset> offsets;
      tokenizer->encode_with_offsets(text, {.max_length = 0}, row, offsets);
      size_t window = 0;
      for (size_t passage = 0; passage < cut.passages.size(); ++passage) {
        if (static_cast<int64_t>(passage) >= cut.first_passages[window + 1]) ++window;
        const Passage& place = cut.passages[passage];
        std::vector<int32_t> expected;
        int32_t highest = 0;  // an offset before that of an earlier token counts with that token
        for (size_t token = 0; token < offsets.size(); ++token) {
          if (offsets[token].end <= offsets[token].begin) continue;
          highest = std::max(highest, offsets[token].end - 1);
          if (highest >= place.char_begin && highest < place.char_end &&
              std::ssize(expected) < rule.max_tokens)
            expected.push_back(row.row(0)[token]);
        }
        if (expected.empty()) continue;
        const TokenSpan& span = cut.spans[passage];
        const auto ids = cut.sequences.row(static_cast<int64_t>(window))
                             .subspan(static_cast<size_t>(span.begin),
                                      static_cast<size_t>(span.end - span.begin));
        ASSERT_TRUE(std::ranges::equal(ids, expected)) << family << " '" << text << "'";
      }
    }
  }
}

// "word" is one token, which ends in the frame, and begins in the text or before it.
TEST(LateWindows, APassageWithoutATokenHasTheOneThatContainsIt) {
  const auto tokenizer = load_family("gpt2");
  TokenizedRows row;
  tokenizer->encode("a the", {.max_length = 0}, row);
  ASSERT_EQ(row.ids.size(), 2U) << "the control";
  const PassageRule rule = {.max_tokens = 4, .vectors = PassageVectors::kLate};
  for (const FramedText& framed : {FramedText{.before = "a", .text = " t", .after = "he"},
                                   FramedText{.before = "a t", .text = "h", .after = "e"}}) {
    const CutText cut = cut_late(*tokenizer, rule, framed, 64);
    EXPECT_EQ(cut.spans, (std::vector<TokenSpan>{{1, 2}})) << framed.text;
  }
}

TEST(LateWindows, OfAShortTextAreItsRow) {
  const auto tokenizer = load_family("wordpiece");
  const PassageRule rule = {.max_tokens = 4, .vectors = PassageVectors::kLate};
  const CutText cut = cut_late(*tokenizer, rule, {.text = "a b c. d e f."}, 64);
  TokenizedRows row;
  tokenizer->encode("a b c. d e f.", {.max_length = 0}, row);
  ASSERT_EQ(cut.sequences.size(), 1);
  EXPECT_TRUE(std::ranges::equal(cut.sequences.row(0), row.row(0)));
  EXPECT_EQ(cut.spans, (std::vector<TokenSpan>{{1, 5}, {5, 9}}));
}

// An empty text has one passage, and its vector is that of the row.
TEST(LateWindows, OfAnEmptyTextAreItsSpecialTokens) {
  const auto tokenizer = load_family("wordpiece");
  const PassageRule rule = {.max_tokens = 4, .vectors = PassageVectors::kLate};
  const CutText cut = cut_late(*tokenizer, rule, {.text = ""}, 64);
  EXPECT_EQ(cut.sequences.ids.size(), 2U);
  EXPECT_EQ(cut.spans, (std::vector<TokenSpan>{{0, 2}}));
  EXPECT_EQ(cut.tokens(0), 2);
}

}  // namespace
}  // namespace encode
