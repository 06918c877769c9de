// Tests that invalid UTF-8 is repaired as in CPython. scripts/reference/make_files.py has made
// utf8_replace.tsv with CPython's decoder.
#include "base/utf8.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string repaired(const std::string& text) {
  std::string out;
  append_repaired_utf8(text, out);
  return out;
}

struct Golden {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string edges;  // bytes at the limits of the ranges of UTF-8
  // digests[n] is the hash of the repaired forms of all sequences of n bytes of `edges`.
  std::vector<std::string> digests = {{}, {}, {}, {}, {}};
};

Golden read_golden() {
  Golden golden;
  std::ifstream in(test_data("text/utf8_replace.tsv"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string first, second, third;
    std::getline(fields, first, '\t');
    std::getline(fields, second, '\t');
    std::getline(fields, third, '\t');
    if (third.empty()) {
      golden.pairs.emplace_back(from_hex(first), from_hex(second));
    } else {
      golden.edges = from_hex(second);
      golden.digests.at(static_cast<size_t>(first.back() - '0')) = third;
    }
  }
  return golden;
}

TEST(Utf8, RepairsAsPythonDoes) {
  const Golden golden = read_golden();
  ASSERT_GT(golden.pairs.size(), 600U);
  for (const auto& [bytes, expected] : golden.pairs) EXPECT_EQ(repaired(bytes), expected);
}

TEST(Utf8, RepairsEverySequenceOfThreeAndFourEdgeBytesAsPythonDoes) {
  const Golden golden = read_golden();
  const size_t n = golden.edges.size();
  for (size_t length : {3, 4}) {
    Sha256 digest;
    size_t count = 1;
    for (size_t i = 0; i < length; ++i) count *= n;
    for (size_t k = 0; k < count; ++k) {
      std::string sequence(length, '\0');
      for (size_t i = 0, rest = k; i < length; ++i, rest /= n)
        sequence[length - 1 - i] = golden.edges[rest % n];
      const std::string line = repaired(sequence) + "\n";
      digest.update(line.data(), line.size());
    }
    EXPECT_EQ(digest.hex(), golden.digests[length]) << length;
  }
}

TEST(Utf8, OwnAndSimdjsonsRulesAgree) {
  for (const auto& [bytes, expected] : read_golden().pairs) {
    EXPECT_EQ(is_valid_utf8(bytes), first_invalid_utf8(bytes) == bytes.size());
    EXPECT_EQ(is_valid_utf8(bytes), bytes == expected);
    EXPECT_TRUE(is_valid_utf8(repaired(bytes)));
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(first_invalid_utf8("abc"), 3U);
  EXPECT_EQ(first_invalid_utf8("ab\xE2\x82"), 2U);
  EXPECT_EQ(first_invalid_utf8(""), 0U);
}

TEST(Utf8, KnowsBytesThatNoTextBeginsWith) {
  for (const char* text :
       {"{", "a", " ", "\n", "\t", "\r", "\xC3\xA9", "\xEF\xBB\xBF", "\xF0\x9F\x98\x80"})
    EXPECT_TRUE(may_begin_text(text)) << text;
  for (const std::string& text :
       {std::string(), std::string(1, '\0'), std::string("\x1b"), std::string("\x7f"),
        std::string("\x80"), std::string("\xC1"), std::string("\xF5"), std::string("\xFF")})
    EXPECT_FALSE(may_begin_text(text));
}

}  // namespace
}  // namespace encode::testing
