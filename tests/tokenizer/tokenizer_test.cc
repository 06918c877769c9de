// Tests that every family of tokenizers keeps the contract of include/encode/tokenizer.h.
#include "encode/tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "cpu_seconds.h"
#include "golden_cases.h"

namespace encode {
namespace {

const std::vector<std::string> kFamilies = {
    "wordpiece", "gpt2",    "roberta",       "qwen2",   "llama3",           "gemma",
    "llama2",    "unigram", "unigram_bytes", "mistral", "sentencepiece_bpe"};

using testing::load_family;

std::vector<std::string> sample_texts() {
  std::vector<std::string> texts = {"", "a", "Hello, world!", std::string("nul\0here", 8),
                                    "caf\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD"};
  for (int i = 0; i < 200; ++i)
    texts.push_back(fmt::format("def f{}(x):\n    return x + {}", i * i, i));
  return texts;
}

TokenizedRows encode_all(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  TokenizedRows rows;
  for (const std::string& text : texts) tokenizer.encode(text, {.max_length = 64}, rows);
  return rows;
}

TEST(TokenizerTest, RowsAreAppendedAndDoNotDependOnTheirNeighbours) {
  for (const std::string& family : kFamilies) {
    const auto tokenizer = load_family(family);
    const std::vector<std::string> texts = sample_texts();
    const TokenizedRows rows = encode_all(*tokenizer, texts);
    ASSERT_EQ(rows.size(), static_cast<int64_t>(texts.size()));
    for (int64_t i = 0; i < rows.size(); ++i) {
      const TokenizedRows alone = encode_all(*tokenizer, {texts[static_cast<size_t>(i)]});
      EXPECT_TRUE(std::ranges::equal(rows.row(i), alone.row(0))) << family << " row " << i;
    }
  }
}

TEST(TokenizerTest, ThreadsShareATokenizer) {
  for (const std::string& family : kFamilies) {
    const auto tokenizer = load_family(family);
    const std::vector<std::string> texts = sample_texts();
    const TokenizedRows expected = encode_all(*tokenizer, texts);
    std::vector<TokenizedRows> results(4);
    std::vector<std::thread> threads;
    for (TokenizedRows& result : results) {
      threads.emplace_back([&] { result = encode_all(*tokenizer, texts); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const TokenizedRows& result : results) EXPECT_EQ(result.ids, expected.ids) << family;
  }
}

TEST(TokenizerTest, EveryIdIsInTheVocabulary) {
  for (const std::string& family : kFamilies) {
    const auto tokenizer = load_family(family);
    for (const int32_t id : encode_all(*tokenizer, sample_texts()).ids) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, tokenizer->vocab_size());
      EXPECT_FALSE(tokenizer->token(id).empty()) << family << " id " << id;
    }
    EXPECT_EQ(tokenizer->token(-1), "");
    EXPECT_EQ(tokenizer->token(static_cast<int32_t>(tokenizer->vocab_size())), "");
    EXPECT_FALSE(tokenizer->description().empty());
  }
}

TEST(TokenizerTest, ARowIsNeverLongerThanMaxLength) {
  const auto tokenizer = load_family("wordpiece");
  for (const int64_t max_length : {1, 2, 3, 4, 5}) {
    TokenizedRows rows;
    tokenizer->encode("one two three", {.max_length = max_length}, rows);
    TokenizedRows whole;
    tokenizer->encode("one two three", {}, whole);
    EXPECT_LE(rows.row(0).size(), static_cast<size_t>(max_length));
    EXPECT_EQ(rows.row(0).size() + static_cast<size_t>(rows.lost_tokens[0]), whole.row(0).size());
    if (max_length >= 2) {  // there is room for [SEP] at the end
      EXPECT_EQ(rows.row(0).back(), whole.row(0).back());
    }
  }
}

TEST(TokenizerTest, CostPerByteDoesNotGrowWithTheLengthOfAWord) {
  for (const std::string& family : kFamilies) {
    // The library tokenizes for these, not this code.
    if (family == "mistral" || family.starts_with("sentencepiece")) continue;
    const auto tokenizer = load_family(family);
    const auto seconds = [&](const std::string& text) {
      TokenizedRows rows;
      const double start = testing::cpu_seconds();
      tokenizer->encode(text, {}, rows);
      return testing::cpu_seconds() - start;
    };
    for (const std::string piece : {"a", " ", "xy", "\xE4\xBD\xA0", "a \xC3\xA9 "}) {
      std::string shorter;
      for (int i = 0; i < 30'000; ++i) shorter += piece;
      std::string longer;
      for (int i = 0; i < 10; ++i) longer += shorter;
      double best = 1e9;
      for (int i = 0; i < 3; ++i) best = std::min(best, seconds(longer) / seconds(shorter));
      // The longer text has 10 times the length. A quadratic method takes 100 times as long.
      EXPECT_LT(best, 40) << family << " '" << piece << "'";
    }
  }
}

// Real vocabularies are not part of the project. The test searches for one in $ENCODE_TEST_ASSETS
// and in .deps/models.
TEST(TokenizerTest, RealMiniLmVocabulary) {
  namespace fs = std::filesystem;
  const char* assets = std::getenv("ENCODE_TEST_ASSETS");
  const fs::path root = fs::path(testing::test_data("")) / ".." / "..";
  for (const fs::path& base :
       {fs::path(assets == nullptr ? "" : assets), root / ".deps" / "models"}) {
    const fs::path dir = base / "all-MiniLM-L6-v2";
    if (!fs::exists(dir / "tokenizer.json")) continue;
    TokenizedRows rows;
    load_tokenizer_from_directory(dir)->encode("Hello, world! caf\xC3\xA9 unaffable",
                                               {.max_length = 256}, rows);
    // Hugging Face `tokenizers` gives these ids with this vocabulary.
    EXPECT_EQ(rows.ids,
              (std::vector<int32_t>{101, 7592, 1010, 2088, 999, 7668, 14477, 20961, 3468, 102}));
    return;
  }
  GTEST_SKIP() << "all-MiniLM-L6-v2 is neither in $ENCODE_TEST_ASSETS nor in .deps/models "
                  "(scripts/quickstart.sh fetches it)";
}

}  // namespace
}  // namespace encode
