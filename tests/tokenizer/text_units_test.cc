#include "tokenizer/text_units.h"

#include <cstdint>
#include <random>
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

// Words, signs and sentence ends, of 20 bytes to some blocks of the loops over bytes.
std::string random_words(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "word",   "X9",     " ",      " ",          "\n",   "\n\n",    ".",      ". ",
      "!",      "?",      "-",      "\t",         "\r\n", "e\u0301", "\u00E9", "\u061F",
      "\u0628", "\u5B57", "\u3002", "\U0001F468", "\x01", "~",       "\x7F"};
  std::string text;
  for (auto i = 5 + random() % 60; i > 0; --i) text += kPieces[random() % kPieces.size()];
  return text;
}

int64_t pieces_one_by_one(std::string_view text) {
  const auto in = [](int byte, int first, int last) { return byte >= first && byte <= last; };
  int64_t pieces = 0;
  bool in_word = false;
  for (const char c : text) {
    const int byte = static_cast<unsigned char>(c);
    const bool word =
        in(byte, 'a', 'z') || in(byte, 'A', 'Z') || in(byte, '0', '9') || in(byte, 0x80, 0xDF);
    const bool sign = !word && in(byte, '!', '~');
    if (sign || (word && !in_word)) ++pieces;
    in_word = word;
  }
  return pieces;
}

TEST(CountPieces, IsTheSameInBlocksOfBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_words(random);
    ASSERT_EQ(count_pieces(text), pieces_one_by_one(text)) << text;
  }
}

TEST(SentenceWindow, PiecesOfAPartAreThoseOfItsText) {
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_words(random);
    SentenceWindow window(text);
    const size_t begin = random() % text.size();
    const size_t end = begin + random() % (text.size() - begin + 1);
    ASSERT_EQ(window.pieces(begin, end), count_pieces(text.substr(begin, end - begin)))
        << begin << " to " << end << " of " << text;
  }
}

// Bytes that end no sentence are skipped in blocks, which begin elsewhere behind another number of
// bytes.
TEST(SentenceWindow, SentencesEndWhereTheyDoBehindAnotherNumberOfBytes) {
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const std::string text = random_words(random);
    const size_t end = unicode::sentence_end(text, 0);
    for (size_t before = 1; before < 34; ++before)
      ASSERT_EQ(unicode::sentence_end(std::string(before, 'a') + " " + text, 0), before + 1 + end)
          << text;
  }
}

}  // namespace
}  // namespace encode
