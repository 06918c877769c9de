#include "tokenizer/text_units.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/unicode/grapheme_break.h"
#include "tokenizer/unicode/sentence_break.h"

namespace encode {
namespace {

struct Units {
  std::vector<std::string> sentences;
  std::vector<std::string> paragraphs;
};

Units units_of(std::string_view text) {
  SentenceWindow window(text);
  Units units;
  for (size_t i = 0; const Sentence* sentence = window.at(i); ++i) {
    units.sentences.emplace_back(text.substr(sentence->begin, sentence->end - sentence->begin));
    if (sentence->begins_paragraph) units.paragraphs.emplace_back();
    units.paragraphs.back() += units.sentences.back();
  }
  return units;
}

using Texts = std::vector<std::string>;

TEST(SentenceWindow, BlankLinesBelongToTheSentenceBefore) {
  EXPECT_EQ(units_of("One.\n\n \nTwo. Three").sentences, (Texts{"One.\n\n \n", "Two. ", "Three"}));
  EXPECT_EQ(units_of("\n \nOne.").sentences, (Texts{"\n \nOne."}));
  EXPECT_EQ(units_of(" \n\n").sentences, (Texts{" \n\n"}));
  EXPECT_EQ(units_of("").sentences, Texts{});
}

TEST(SentenceWindow, AnEmptyLineEndsAParagraph) {
  EXPECT_EQ(units_of("One.\nTwo.\n\nThree.").paragraphs, (Texts{"One.\nTwo.\n\n", "Three."}));
  EXPECT_EQ(units_of("One.\r\nTwo.\r\n\r\nThree.").paragraphs,
            (Texts{"One.\r\nTwo.\r\n\r\n", "Three."}));
  EXPECT_EQ(units_of("One.\n \t\n Two.").paragraphs, (Texts{"One.\n \t\n", " Two."}));
  EXPECT_EQ(units_of("One.\u2029Two.").paragraphs, (Texts{"One.\u2029", "Two."}));
  EXPECT_EQ(units_of("One.\r\n Two.").paragraphs, (Texts{"One.\r\n Two."}));
}

// U+0600 belongs to the sentence before it (it is Format), and to the cluster after it (Prepend).
TEST(SentenceWindow, NoSentenceEndsInsideACluster) {
  const std::string text = "One!\u0600Two. Three.";
  const size_t end = unicode::sentence_end(text, 0);
  ASSERT_EQ(text.substr(0, end), "One!\u0600");
  ASSERT_GT(unicode::cluster_end(text, 4), end);
  EXPECT_EQ(units_of(text).sentences, (Texts{"One!\u0600Two. ", "Three."}));
}

TEST(SentenceWindow, FindsASentenceByAByte) {
  SentenceWindow window("One. Two. Three.");
  EXPECT_EQ(window.index_of(0), 0U);
  EXPECT_EQ(window.index_of(4), 0U);
  EXPECT_EQ(window.index_of(5), 1U);
  EXPECT_EQ(window.index_of(15), 2U);
  window.drop_before(10);
  EXPECT_EQ(window.index_of(10), 2U);
  EXPECT_EQ(window.at(2)->begin, 10U);
}

Texts words_of(std::string_view text, size_t max_bytes = 1000) {
  Texts words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at, text.size(), max_bytes);
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

TEST(CountPieces, CountsWordsSignsAndIdeographs) {
  EXPECT_EQ(count_pieces(""), 0);
  EXPECT_EQ(count_pieces(" \n"), 0);
  EXPECT_EQ(count_pieces("one, two.three"), 5);
  EXPECT_EQ(count_pieces("\u043C\u0438\u0440 e\u0301t\u00E9"), 2);
  EXPECT_EQ(count_pieces("\u5B57\u6587\u3002"), 3);
}

TEST(WordEnd, IsAfterWhiteSpaceAndBetweenLettersOfScriptsWithoutSpaces) {
  EXPECT_EQ(words_of("one, two\n\n three"), (Texts{"one, ", "two\n\n ", "three"}));
  EXPECT_EQ(words_of("\u5B57\u6587a\u3042\u3044."), (Texts{"\u5B57", "\u6587a\u3042", "\u3044."}));
  EXPECT_EQ(words_of("\u0E01\u0E33\u0E01"), (Texts{"\u0E01\u0E33", "\u0E01"}));
}

TEST(WordEnd, ALongWordEndsAfterACluster) {
  EXPECT_EQ(words_of("abcdefg", 3), (Texts{"abc", "def", "g"}));
  EXPECT_EQ(words_of("abe\u0301fg", 3), (Texts{"abe\u0301", "fg"}));
}

}  // namespace
}  // namespace encode
