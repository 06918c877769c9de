// Compares the breaks of texts with the conformance tests of the Unicode Character Database.
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "tokenizer/unicode/break_data.h"
#include "tokenizer/unicode/grapheme_break.h"
#include "tokenizer/unicode/sentence_break.h"
#include "tokenizer/unicode/unicode.h"

namespace encode::unicode {
namespace {

using EndFunction = size_t (*)(std::string_view, size_t);

struct BreakCase {
  std::string text;
  std::vector<size_t> ends;
  std::string line;
};

// Reads lines such as "÷ 0041 × 0308 ÷ 000A ÷ # comment".
std::vector<BreakCase> read_break_cases(const std::string& name) {
  std::ifstream in(testing::test_data("unicode/" + name));
  std::vector<BreakCase> cases;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    BreakCase entry;
    entry.line = line;
    for (std::string word; words >> word;) {
      if (word == "\u00F7") {
        if (!entry.text.empty()) entry.ends.push_back(entry.text.size());
      } else if (word != "\u00D7") {
        append_utf8(entry.text, static_cast<char32_t>(std::stoul(word, nullptr, 16)));
      }
    }
    if (!entry.text.empty()) cases.push_back(std::move(entry));
  }
  return cases;
}

std::vector<size_t> ends_of(std::string_view text, EndFunction end_of) {
  std::vector<size_t> ends;
  for (size_t at = 0; at < text.size(); ends.push_back(at)) at = end_of(text, at);
  return ends;
}

void expect_conformance(const std::string& name, EndFunction end_of, size_t count) {
  const std::vector<BreakCase> cases = read_break_cases(name);
  ASSERT_EQ(cases.size(), count);
  for (const BreakCase& entry : cases)
    EXPECT_EQ(ends_of(entry.text, end_of), entry.ends) << entry.line;
}

TEST(Breaks, EverySentenceOfTheConformanceTest) {
  expect_conformance("SentenceBreakTest.txt", sentence_end, 502);
}

TEST(Breaks, EveryClusterOfTheConformanceTest) {
  expect_conformance("GraphemeBreakTest.txt", cluster_end, 602);
}

TEST(Breaks, TheTableAndTheConformanceTestsHaveOneVersion) {
  for (const std::string name : {"SentenceBreakTest", "GraphemeBreakTest"}) {
    std::ifstream in(testing::test_data("unicode/" + name + ".txt"));
    std::string first;
    std::getline(in, first);
    EXPECT_EQ(first, "# " + name + "-" + std::string(kBreakVersion) + ".txt");
  }
}

TEST(Breaks, SentencesOfRealText) {
  const std::string text = "It cost 3.5 dollars. \"Really?\" He left, e.g. by car.\nThen: nothing";
  std::vector<std::string> sentences;
  for (size_t at = 0; at < text.size();) {
    const size_t end = sentence_end(text, at);
    sentences.push_back(text.substr(at, end - at));
    at = end;
  }
  EXPECT_EQ(sentences, (std::vector<std::string>{"It cost 3.5 dollars. ", "\"Really?\" ",
                                                 "He left, e.g. by car.\n", "Then: nothing"}));
}

// Without its limit, the search for a Lower after each full stop (SB8) takes quadratic time.
TEST(Breaks, TheSearchAfterAFullStopEndsAtTheNextOne) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += ".(";
  EXPECT_GE(ends_of(text, sentence_end).size(), 1U);
}

}  // namespace
}  // namespace encode::unicode
