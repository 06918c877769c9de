// Tests the promises of tokenizer/passages.h, with texts of random characters among others.
#include "tokenizer/passages.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "cpu_seconds.h"
#include "golden_cases.h"
#include "passage_promises.h"
#include "tokenizer/unicode/break_data.h"
#include "tokenizer/unicode/grapheme_break.h"
#include "tokenizer/unicode/sentence_break.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using testing::Cut;
using testing::cut_framed;
using testing::cut_text;
using testing::expect_promises;
using testing::load_family;
using testing::random_text;
using testing::text_of;
using testing::texts_of;

// The fingerprint of a run has the version in PassageRule.
TEST(Passages, EndWhereTheUnicodeVersionOfTheirRuleSays) {
  EXPECT_EQ(std::string_view(unicode::kBreakVersion), PassageRule::kUnicode);
}

TEST(Passages, KeepTheirPromisesForRandomTexts) {
  std::mt19937 random(7);
  for (const std::string family : {"wordpiece", "gpt2", "llama2", "unigram", "gemma"}) {
    const auto tokenizer = load_family(family);
    for (int i = 0; i < 150; ++i) {
      const std::string text = random_text(random, static_cast<int>(random() % 300));
      PassageRule rule = {.max_tokens = 12 + static_cast<int64_t>(random() % 60),
                          .by = static_cast<PassageUnit>(random() % 3)};
      if (random() % 2 == 0) rule.overlap = static_cast<int64_t>(random()) % (rule.max_tokens - 10);
      expect_promises(*tokenizer, rule, {.text = text}, i % 3 == 0 ? "q: " : "");
      if (::testing::Test::HasFailure()) {
        FAIL() << family << " max_tokens " << rule.max_tokens << " overlap " << rule.overlap
               << " by " << static_cast<int>(rule.by) << " text '" << text << "'";
      }
    }
  }
}

// The frame may end and begin with what a tokenizer joins with the text.
TEST(Passages, KeepTheirPromisesInAFrame) {
  std::mt19937 random(8);
  for (const std::string family : {"wordpiece", "gpt2", "llama2", "unigram", "gemma"}) {
    const auto tokenizer = load_family(family);
    for (int i = 0; i < 60; ++i) {
      const std::string before = random_text(random, static_cast<int>(random() % 12));
      const std::string text = random_text(random, static_cast<int>(random() % 200));
      const std::string after = random_text(random, static_cast<int>(random() % 12));
      const PassageRule rule = {.max_tokens = 150 + static_cast<int64_t>(random() % 60),
                                .overlap = static_cast<int64_t>(random() % 20),
                                .by = static_cast<PassageUnit>(random() % 3)};
      const FramedText framed = {.before = before, .text = text, .after = after};
      expect_promises(*tokenizer, rule, framed, i % 3 == 0 ? "q: " : "");
      if (::testing::Test::HasFailure()) {
        FAIL() << family << " max_tokens " << rule.max_tokens << " overlap " << rule.overlap
               << " before '" << before << "' text '" << text << "' after '" << after << "'";
      }
    }
  }
}

TEST(Passages, AFrameWithoutRoomForTheOverlapIsRefused) {
  const auto tokenizer = load_family("wordpiece");  // puts two tokens around every row
  const PassageRule rule = {.max_tokens = 12, .overlap = 3};
  const auto code_of = [&](const FramedText& text) -> std::string {
    try {
      const Cut cut = cut_framed(*tokenizer, rule, text, "");
      EXPECT_GE(cut.passages.size(), 1U);
      return "";
    } catch (const Error& error) {
      return std::string(error.detail().code.name());
    }
  };
  EXPECT_EQ(code_of({.before = "a b c", .text = "d", .after = "e f g"}), "");
  EXPECT_EQ(code_of({.before = "a b c", .text = "d", .after = "e f g h"}), "passages.no_room");
  EXPECT_EQ(code_of({.before = "a b c", .text = "", .after = "e f g h"}), "passages.no_room");
}

TEST(Passages, ATemplateWithoutRoomIsRefusedBeforeARowIsRead) {
  const auto tokenizer = load_family("wordpiece");
  InputOptions input;
  input.text_template = "a {title} b {{c}} {body} {title} d";
  input.passage_field = "body";
  const FrameText frame = literal_frame(input);
  EXPECT_EQ(frame.before, "a  b {c} ");
  EXPECT_EQ(frame.after, "  d");
  const auto cutter = [&](int64_t max_tokens) {
    PassageCutter(
        {.tokenizer = *tokenizer, .rule = {.max_tokens = max_tokens}, .prompt = "", .frame = frame},
        "a test");
  };
  TokenizedRows row;
  tokenizer->encode(frame.before + frame.after, {}, row);
  const auto around = static_cast<int64_t>(row.ids.size());
  EXPECT_NO_THROW(cutter(around + 1));
  try {
    cutter(around);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "model.max_length");
    EXPECT_NE(error.detail().expected.find("template"), std::string::npos);
  }
}

TEST(Passages, EndWhereSentencesEnd) {
  const auto tokenizer = load_family("wordpiece");
  const std::string text = "One two three. Four five six. Seven eight nine. Ten.";
  for (int64_t max_tokens = 16; max_tokens < 60; ++max_tokens) {
    std::set<int64_t> ends;
    for (size_t at = 0; at < text.size(); ends.insert(static_cast<int64_t>(at)))
      at = unicode::sentence_end(text, at);
    const Cut cut = cut_text(*tokenizer, {.max_tokens = max_tokens}, text);
    for (const Passage& passage : cut.passages)
      EXPECT_TRUE(ends.contains(passage.byte_end)) << max_tokens << " " << passage.byte_end;
  }
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string random_paragraph(std::mt19937& random) {
  std::string text;
  for (uint32_t sentences = 1 + random() % 60; sentences > 0; --sentences) {
    text += "The";
    for (uint32_t words = 1 + random() % 3; words > 0; --words)
      text += random() % 4 == 0 ? " hydrodynamics" : " a";
    text += ". ";
  }
  return text + "\n\n";
}

// A passage has whole paragraphs, or it is a part of one that has more tokens than fit.
TEST(Passages, OnlyAParagraphThatIsTooLongIsCut) {
  const auto tokenizer = load_family("wordpiece");  // a row has the tokens of its parts
  std::mt19937 random(12);
  const PassageRule rule = {.max_tokens = 256, .by = PassageUnit::kParagraph};
  int cut_paragraphs = 0;
  for (int i = 0; i < 50; ++i) {
    std::string text;
    std::vector<int64_t> begins;
    for (int paragraph = 0; paragraph < 20; ++paragraph) {
      begins.push_back(static_cast<int64_t>(text.size()));
      text += random_paragraph(random);
    }
    begins.push_back(static_cast<int64_t>(text.size()));
    for (const Passage& passage : cut_text(*tokenizer, rule, text).passages) {
      const auto after = std::ranges::upper_bound(begins, passage.byte_begin);
      const bool whole = std::ranges::binary_search(begins, passage.byte_end);
      if (whole) continue;
      EXPECT_LT(passage.byte_end, *after) << "a part of the next paragraph";
      const std::string_view paragraph = std::string_view(text).substr(
          static_cast<size_t>(after[-1]), static_cast<size_t>(after[0] - after[-1]));
      TokenizedRows row;
      tokenizer->encode(paragraph, {}, row);
      EXPECT_GT(std::ssize(row.ids), rule.max_tokens);
      ++cut_paragraphs;
    }
  }
  EXPECT_GT(cut_paragraphs, 50);
}

TEST(Passages, ParagraphsStayWholeIfTheyFit) {
  const auto tokenizer = load_family("gpt2");
  const std::string paragraph = "The first line.\nThe second line.\n\n";
  const std::string text = repeated(paragraph, 10);
  const PassageRule rule = {.max_tokens = 40, .by = PassageUnit::kParagraph};
  const Cut cut = cut_text(*tokenizer, rule, text);
  EXPECT_GT(cut.passages.size(), 2U);
  for (const Passage& passage : cut.passages) {
    EXPECT_EQ(passage.byte_begin % static_cast<int64_t>(paragraph.size()), 0);
    EXPECT_EQ(passage.byte_end % static_cast<int64_t>(paragraph.size()), 0);
  }
}

TEST(Passages, AParagraphThatIsTooLongIsCutBetweenSentences) {
  const auto tokenizer = load_family("gpt2");
  const std::string sentence = "A line of a long paragraph. ";
  const std::string text = "A short one.\n\n" + repeated(sentence, 30) + "\n\nThe end.";
  const Cut cut = cut_text(*tokenizer, {.max_tokens = 60, .by = PassageUnit::kParagraph}, text);
  ASSERT_GT(cut.passages.size(), 3U);
  for (const std::string& passage : texts_of(text, cut))
    EXPECT_TRUE(passage.ends_with(". ") || passage.ends_with(".\n\n") || passage.ends_with("."))
        << passage;
}

TEST(Passages, ASentenceThatIsTooLongIsCutAfterWhiteSpace) {
  const auto tokenizer = load_family("gpt2");
  const std::string text = repeated("several words without an end ", 100);
  const Cut cut = cut_text(*tokenizer, {.max_tokens = 32}, text);
  ASSERT_GT(cut.passages.size(), 10U);
  for (const std::string& passage : texts_of(text, cut)) EXPECT_TRUE(passage.ends_with(' '));
}

// Splitters elsewhere loop for ever, or lose the text, if a word without spaces is longer than a
// passage and passages overlap.
TEST(Passages, AWordThatIsTooLongIsCutAndTheCutterComesToItsEnd) {
  const std::string text = "see " + repeated("0123456789abcdef", 200) + " here. " +
                           repeated("\u5B57\u6587", 300) + "\u3002";
  for (const std::string family : {"wordpiece", "gpt2", "llama2"}) {
    const auto tokenizer = load_family(family);
    for (const PassageUnit by :
         {PassageUnit::kSentence, PassageUnit::kParagraph, PassageUnit::kToken}) {
      for (const int64_t overlap : {0, 5, 20})
        expect_promises(*tokenizer, {.max_tokens = 32, .overlap = overlap, .by = by},
                        {.text = text}, "");
    }
  }
}

TEST(Passages, TheNextPassageRepeatsWholeSentences) {
  const auto tokenizer = load_family("gpt2");
  std::string text;
  for (int i = 0; i < 40; ++i) text += fmt::format("Sentence number {} is here. ", i);
  const Cut cut = cut_text(*tokenizer, {.max_tokens = 60, .overlap = 20}, text);
  ASSERT_GT(cut.passages.size(), 3U);
  for (size_t i = 1; i < cut.passages.size(); ++i) {
    EXPECT_LT(cut.passages[i].byte_begin, cut.passages[i - 1].byte_end);
    EXPECT_TRUE(text_of(text, cut.passages[i]).starts_with("Sentence "));
  }
}

TEST(Passages, ByTokenPassagesAreNearlyFull) {
  const auto tokenizer = load_family("wordpiece");
  const std::string text = repeated("def f(x): return the value of x plus y. ", 200);
  const Cut cut = cut_text(*tokenizer, {.max_tokens = 64, .by = PassageUnit::kToken}, text);
  for (int64_t i = 0; i + 1 < cut.rows.size(); ++i) EXPECT_GE(cut.rows.row(i).size(), 58U) << i;
}

TEST(Passages, AClusterAboveTheLimitIsTruncatedAndCounted) {
  const auto tokenizer = load_family("gpt2");
  const std::string cluster = "e" + repeated("\u0301", 200);
  const std::string text = "before " + cluster + " after";
  const Cut cut = cut_text(*tokenizer, {.max_tokens = 32}, text);
  expect_promises(*tokenizer, {.max_tokens = 32}, {.text = text}, "");
  EXPECT_EQ(std::ranges::count_if(cut.rows.lost_tokens, [](int32_t lost) { return lost > 0; }), 1);
}

TEST(Passages, ShortAndEmptyTextsAreOnePassage) {
  const auto tokenizer = load_family("wordpiece");
  for (const std::string text : {"", " ", "\n\n", "short", "One. Two. Three."}) {
    const Cut cut = cut_text(*tokenizer, {.max_tokens = 64, .overlap = 8}, text);
    ASSERT_EQ(cut.passages.size(), 1U);
    const auto size = static_cast<int64_t>(text.size());
    EXPECT_EQ(cut.passages[0], (Passage{.byte_end = size, .char_end = size}));
  }
}

TEST(Passages, ALimitWithoutRoomForTheOverlapIsRefused) {
  const auto tokenizer = load_family("wordpiece");  // puts two tokens around every row
  EXPECT_NO_THROW(cut_text(*tokenizer, {.max_tokens = 11, .overlap = 8}, "a"));
  for (const PassageRule rule :
       {PassageRule{.max_tokens = 10, .overlap = 8}, PassageRule{.max_tokens = 2, .overlap = 0}}) {
    try {
      cut_text(*tokenizer, rule, "a");
      FAIL() << rule.max_tokens;
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "model.max_length");
    }
  }
}

// Splitters elsewhere search for a chunk in its text, and find another one that is equal.
TEST(Passages, OfARepeatedSentenceHavePlacesOneAfterTheOther) {
  const std::string text = repeated("This is a test, please do not be mad at me. ", 6);
  for (const std::string family : {"wordpiece", "gpt2", "gemma"}) {
    const auto tokenizer = load_family(family);
    const Cut cut = cut_text(*tokenizer, {.max_tokens = 60}, text);
    ASSERT_GT(cut.passages.size(), 1U) << family;
    int64_t at = 0;
    for (const Passage& passage : cut.passages) {
      EXPECT_EQ(passage.char_begin, at) << family;
      at = passage.char_end;
    }
    EXPECT_EQ(at, std::ssize(text)) << family;
  }
}

// Splitters elsewhere lose such characters at the ends of their chunks, or make empty chunks.
TEST(Passages, WhiteSpaceAndRareCharactersStayInTheText) {
  const std::vector<std::string> pieces = {" ",
                                           "\n",
                                           "\t",
                                           "\u00A0",
                                           "page one.\fpage two.\f",
                                           "One.\r\n\r\nTwo.\r\n",
                                           "\uFEFFa b. ",
                                           std::string("a\0b. c\0 ", 8),
                                           "\U0001F468\u200D\U0001F469\u200D\U0001F467 ",
                                           "\u05E9\u05DC\u05D5\u05DD. ",
                                           "| a | b |\n|---|---|\n",
                                           "\u0E20\u0E32\u0E29\u0E32\u0E44\u0E17\u0E22",
                                           "a\u2028b\u2029c\u0085d "};
  for (const std::string family : {"wordpiece", "gpt2", "gemma"}) {
    const auto tokenizer = load_family(family);
    for (const std::string& piece : pieces) {
      for (const PassageUnit by :
           {PassageUnit::kSentence, PassageUnit::kParagraph, PassageUnit::kToken})
        expect_promises(*tokenizer, {.max_tokens = 60, .overlap = 8, .by = by},
                        {.text = repeated(piece, 100)}, "");
    }
  }
}

TEST(Passages, TheTimeForAByteDoesNotGrowWithTheText) {
  const auto tokenizer = load_family("gpt2");
  for (const std::string piece :
       {"A sentence. ", "word ", "x", "\u5B57", "\n", ".", "\u203C\u200D\u263A"}) {
    for (const PassageUnit by :
         {PassageUnit::kSentence, PassageUnit::kParagraph, PassageUnit::kToken}) {
      const auto seconds = [&](int times) {
        const std::string text = repeated(piece, times);
        const double start = testing::cpu_seconds();
        cut_text(*tokenizer, {.max_tokens = 32, .overlap = 4, .by = by}, text);
        return testing::cpu_seconds() - start;
      };
      double best = 1e9;
      for (int i = 0; i < 3 && best >= 30; ++i)
        best = std::min(best, seconds(10'000) / seconds(1'000));
      EXPECT_LT(best, 30) << "'" << piece << "' by " << name_of(kPassageUnits, by);
    }
  }
}

}  // namespace
}  // namespace encode
