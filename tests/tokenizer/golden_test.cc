// Tests that every tokenizer of tests/data/tokenizer gives the ids that
// scripts/reference/tokenizer_golden.py has recorded from Hugging Face `tokenizers` and
// `sentencepiece`.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/tokenizer.h"

#include "base/json.h"
#include "golden_cases.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::read_cases;
using testing::tokenizer_data;

using Ids = std::vector<int32_t>;

struct Row {
  Ids ids;
  int32_t lost;
};

Row encode_one(const Tokenizer& tokenizer, const std::string& text,
               const TokenizeOptions& options = {}) {
  TokenizedRows rows;
  tokenizer.encode(text, options, rows);
  return {rows.ids, rows.lost_tokens.at(0)};
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, GivesTheRecordedIds) {
  const auto tokenizer = testing::load_family(GetParam());
  const std::vector<Json> cases = read_cases(GetParam() + "/cases.jsonl");
  ASSERT_GT(cases.size(), 200U);
  for (const Json& expected : cases) {
    const auto text = expected["text"].get<std::string>();
    SCOPED_TRACE("text " + expected["text"].dump());
    EXPECT_EQ(encode_one(*tokenizer, text).ids, expected["ids"].get<Ids>());
    EXPECT_EQ(encode_one(*tokenizer, text, {.add_special_tokens = false}).ids,
              expected["plain"].get<Ids>());
  }
}

TEST_P(GoldenTest, TruncationKeepsSpecialTokensAndCountsTheLost) {
  const auto tokenizer = testing::load_family(GetParam());
  for (const Json& expected : read_cases(GetParam() + "/cases.jsonl")) {
    SCOPED_TRACE("text " + expected["text"].dump());
    const Row row = encode_one(*tokenizer, expected["text"].get<std::string>(), {.max_length = 8});
    EXPECT_EQ(row.ids, expected["short"].get<Ids>());
    EXPECT_EQ(static_cast<size_t>(row.lost), expected["ids"].size() - expected["short"].size());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTest,
                         ::testing::Values("wordpiece", "wordpiece_cased", "gpt2", "roberta",
                                           "qwen2", "llama3", "gemma", "llama2", "unigram",
                                           "unigram_bytes", "mistral", "sentencepiece_bpe",
                                           "sentencepiece_unigram"),
                         [](const auto& test) { return test.param; });

// A charsmap of sentencepiece replaces whole grapheme clusters, so the clusters must be right.
TEST(GoldenClusterTest, ACharsmapSeesTheRecordedClusters) {
  const auto tokenizer = testing::load_family("unigram");
  for (const Json& expected : read_cases("unigram/clusters.jsonl")) {
    EXPECT_EQ(encode_one(*tokenizer, expected["text"].get<std::string>()).ids,
              expected["ids"].get<Ids>())
        << expected["text"].dump();
  }
}

// The files have one small WordLevel tokenizer for each normalizer and pre-tokenizer. Each piece is
// a token, so the ids show the pieces.
TEST(GoldenComponentTest, EveryNormalizerAndPreTokenizerGivesTheRecordedPieces) {
  const testing::TempDir dir;
  const auto texts = Json::parse(testing::read_bytes(tokenizer_data("component_texts.json")));
  size_t components = 0;
  for (const char* part : {"components_1.jsonl", "components_2.jsonl", "components_3.jsonl"}) {
    for (const Json& component : read_cases(part)) {
      SCOPED_TRACE(component["name"].get<std::string>());
      const auto tokenizer =
          load_tokenizer(dir.write("tokenizer.json", component["tokenizer"].dump()));
      for (size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(encode_one(*tokenizer, texts[i].get<std::string>()).ids,
                  component["ids"][i].get<Ids>())
            << texts[i].dump();
      }
      ++components;
    }
  }
  EXPECT_GT(components, 50U);
}

}  // namespace
}  // namespace encode
