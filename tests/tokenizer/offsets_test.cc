// Tests that encode_with_offsets() gives one offset for each id of a row, and that the offsets are
// equal to the offsets that scripts/reference/tokenizer_cases.py has recorded from Hugging Face
// `tokenizers` and `sentencepiece`.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "base/utf8.h"
#include "golden_cases.h"
#include "support/temp_dir.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using testing::read_cases;
using testing::tokenizer_data;

using Ids = std::vector<int32_t>;
using Numbers = std::vector<int32_t>;

const std::vector<std::string> kFamilies = {"wordpiece",
                                            "wordpiece_cased",
                                            "gpt2",
                                            "roberta",
                                            "qwen2",
                                            "llama3",
                                            "gemma",
                                            "llama2",
                                            "unigram",
                                            "unigram_bytes",
                                            "sentencepiece_bpe",
                                            "sentencepiece_unigram",
                                            "mistral"};

struct Row {
  Ids ids;
  std::vector<TokenOffset> offsets;

  Numbers flat() const {
    Numbers numbers;
    for (const TokenOffset& offset : offsets) {
      numbers.push_back(offset.begin);
      numbers.push_back(offset.end);
    }
    return numbers;
  }
};

Row encode_one(const Tokenizer& tokenizer, const std::string& text,
               const TokenizeOptions& options = {}) {
  TokenizedRows rows;
  Row row;
  tokenizer.encode_with_offsets(text, options, rows, row.offsets);
  row.ids = rows.ids;
  return row;
}

int32_t count_code_points(const std::string& text) {
  int32_t count = 0;
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end; ++count) p += unicode::decode(p, end).size;
  return count;
}

TEST(OffsetsTest, EveryFamilyGivesTheRecordedOffsets) {
  for (const std::string& family : kFamilies) {
    const auto tokenizer = testing::load_family(family);
    for (const Json& expected : read_cases(family + "/cases.jsonl")) {
      const Row row = encode_one(*tokenizer, expected["text"].get<std::string>());
      ASSERT_EQ(row.ids, expected["ids"].get<Ids>()) << family << " " << expected["text"].dump();
      ASSERT_EQ(row.flat(), expected["offsets"].get<Numbers>())
          << family << " " << expected["text"].dump();
    }
  }
}

TEST(OffsetsTest, ACharsmapGivesTheRecordedOffsets) {
  const auto tokenizer = testing::load_family("unigram");
  for (const Json& expected : read_cases("unigram/clusters.jsonl")) {
    EXPECT_EQ(encode_one(*tokenizer, expected["text"].get<std::string>()).flat(),
              expected["offsets"].get<Numbers>())
        << expected["text"].dump();
  }
}

TEST(OffsetsTest, EveryPartGivesTheRecordedOffsets) {
  const testing::TempDir dir;
  const auto texts = Json::parse(testing::read_bytes(tokenizer_data("component_texts.json")));
  size_t tokenizers = 0;
  for (const char* file :
       {"components_1.jsonl", "components_2.jsonl", "components_3.jsonl", "offsets.jsonl"}) {
    for (const Json& item : read_cases(file)) {
      SCOPED_TRACE(item["name"].get<std::string>());
      const auto tokenizer = load_tokenizer(dir.write("tokenizer.json", item["tokenizer"].dump()));
      for (size_t i = 0; i < texts.size(); ++i) {
        const Row row = encode_one(*tokenizer, texts[i].get<std::string>());
        ASSERT_EQ(row.ids, item["ids"][i].get<Ids>()) << texts[i].dump();
        ASSERT_EQ(row.flat(), item["offsets"][i].get<Numbers>()) << texts[i].dump();
      }
      ++tokenizers;
    }
  }
  EXPECT_GT(tokenizers, 70U);
}

// Tokenizes `text` and checks that there is an offset for each id, that the ids are equal to the
// ids of encode(), and that each offset lies within the text. If `trims` is false, also checks that
// the begins and the ends ascend; a tokenizer that trims offsets does not have this property.
void check_row(const Tokenizer& tokenizer, const std::string& text, const TokenizeOptions& options,
               bool trims) {
  TokenizedRows rows;
  // The first entry must not change, because encode_with_offsets() appends to the vector.
  std::vector<TokenOffset> offsets = {{7, 9}};
  tokenizer.encode(text, options, rows);
  tokenizer.encode_with_offsets(text, options, rows, offsets);
  ASSERT_TRUE(std::ranges::equal(rows.row(0), rows.row(1)));
  ASSERT_EQ(rows.lost_tokens[0], rows.lost_tokens[1]);
  ASSERT_EQ(offsets.size(), 1 + rows.row(1).size());
  EXPECT_EQ(offsets[0], (TokenOffset{7, 9}));
  const int32_t size = count_code_points(text);
  TokenOffset last;
  for (size_t i = 1; i < offsets.size(); ++i) {
    EXPECT_LE(0, offsets[i].begin);
    EXPECT_LE(offsets[i].begin, offsets[i].end);
    EXPECT_LE(offsets[i].end, size);
    if (trims || offsets[i] == TokenOffset{}) continue;
    EXPECT_LE(last.begin, offsets[i].begin);
    EXPECT_LE(last.end, offsets[i].end);
    last = offsets[i];
  }
}

TEST(OffsetsTest, OffsetsBelongToTheSameIdsAndLieWithinTheText) {
  for (const std::string& family : kFamilies) {
    SCOPED_TRACE(family);
    const auto tokenizer = testing::load_family(family);
    std::string all;
    for (const Json& expected : read_cases(family + "/cases.jsonl")) {
      const auto text = expected["text"].get<std::string>();
      all += text;
      for (const int64_t max_length : {0, 1, 2, 5}) {
        for (const bool special : {true, false}) {
          check_row(*tokenizer, text, {.max_length = max_length, .add_special_tokens = special},
                    family == "roberta");
        }
      }
    }
    check_row(*tokenizer, all, {}, family == "roberta");
  }
}

TEST(OffsetsTest, ATextThatIsTooLongForThemIsRefused) {
  const std::string text((size_t{8} << 20) + 1, ' ');
  for (const std::string family : {"wordpiece", "mistral", "sentencepiece_unigram"}) {
    const auto tokenizer = testing::load_family(family);
    try {
      encode_one(*tokenizer, text);
      ADD_FAILURE() << family << " accepted the text";
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "tokenizer.too_long") << family;
    }
  }
}

// A text that is not valid UTF-8, and the text that the reader makes of it.
struct Broken {
  std::string text;
  std::string repaired;
};

std::vector<Broken> broken_texts() {
  const std::string r = "\xEF\xBF\xBD";  // U+FFFD
  return {{"\xFF", r},
          {"\x80", r},                                  // a lone continuation byte
          {"word \x80\xBF x", "word " + r + r + " x"},  // two lone continuation bytes
          {"caf\xC3", "caf" + r},                       // a sequence of two bytes, truncated
          {"\xE4\xBD\xA0\xE4\xBD a", "\xE4\xBD\xA0" + r + " a"},  // three bytes, truncated
          {"a\xF0\x9F\x98z", "a" + r + "z"},                      // four bytes, truncated
          {"a\xC0\x80z", "a" + r + r + "z"},                      // an overlong NUL
          {"\xE0\x80\xAF", r + r + r},                            // an overlong slash
          {"ok \xED\xA0\x80 ok", "ok " + r + r + r + " ok"},      // a surrogate
          {"\xF4\x90\x80\x80", r + r + r + r}};                   // above U+10FFFF
}

TEST(OffsetsTest, TextThatIsNotUtf8GivesTheRowOfTheRepairedText) {
  for (const std::string& family : kFamilies) {
    const auto tokenizer = testing::load_family(family);
    for (const auto& [text, repaired] : broken_texts()) {
      SCOPED_TRACE(family + " " + repaired);
      std::string by_reader;
      append_repaired_utf8(text, by_reader);
      ASSERT_EQ(by_reader, repaired);
      const Row row = encode_one(*tokenizer, text);
      const Row expected = encode_one(*tokenizer, repaired);
      EXPECT_EQ(row.ids, expected.ids);
      EXPECT_EQ(row.flat(), expected.flat());
      TokenizedRows rows;
      tokenizer->encode(text, {.max_length = 3}, rows);
      tokenizer->encode(repaired, {.max_length = 3}, rows);
      EXPECT_TRUE(std::ranges::equal(rows.row(0), rows.row(1)));
      EXPECT_EQ(rows.lost_tokens[0], rows.lost_tokens[1]);
      check_row(*tokenizer, repaired, {}, family == "roberta");
    }
  }
}

// A model with a tokenize_ranged() that does not give the ids of tokenize().
class TwoFaced final : public TokenizerModel {
 public:
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  int32_t* tokenize(std::string_view /*text*/, std::span<const Piece> pieces, Scratch& /*scratch*/,
                    int32_t* out) const override {
    for (size_t i = 0; i < pieces.size(); ++i) *out++ = 0;
    return out;
  }
  void tokenize_ranged(std::string_view piece, Scratch& /*scratch*/,
                       std::vector<RangedToken>& tokens) const override {
    tokens.push_back({1, {0, static_cast<uint32_t>(piece.size())}});
  }
  std::string name() const override { return "TwoFaced"; }
};

TEST(OffsetsTest, OffsetsOfOtherTokensAreRefused) {
  PipelineParts parts;
  parts.model = std::make_unique<TwoFaced>();
  const std::vector<std::string_view> spellings = {"a", "b"};
  parts.tokens = TokenSpellings(spellings);
  const auto tokenizer = make_pipeline(std::move(parts));
  TokenizedRows rows;
  std::vector<TokenOffset> offsets;
  try {
    tokenizer->encode_with_offsets("text", {}, rows, offsets);
    FAIL() << "gave offsets";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "tokenizer.offsets");
  }
  EXPECT_EQ(rows.size(), 0);
  EXPECT_TRUE(offsets.empty());
}

}  // namespace
}  // namespace encode
