// Tests those limits in docs/tokenizers.md that need large files or long texts.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "cpu_seconds.h"
#include "golden_cases.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::string family_file(const std::string& name) {
  return testing::read_bytes(testing::test_data("tokenizer/" + name + "/tokenizer.json"));
}

std::unique_ptr<Tokenizer> load(const std::string& text) {
  const testing::TempDir dir;
  return load_tokenizer(dir.write("tokenizer.json", text));
}

void encode_one(const Tokenizer& tokenizer, const std::string& text) {
  TokenizedRows rows;
  tokenizer.encode(text, {}, rows);
}

TEST(LimitsTest, AFileOver64MiBIsRefusedUnread) {
  const testing::TempDir dir;
  const std::string path = dir.write("tokenizer.json", "{");
  std::filesystem::resize_file(path, (64 << 20) + 1);
  const ErrorDetail error = error_of([&] { load_tokenizer(path); });
  EXPECT_EQ(error.code.name(), "tokenizer.file");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
}

TEST(LimitsTest, MoreThanFourMillionMergesAreRefused) {
  std::string text = R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b")";
  for (int i = 0; i < 4'000'000; ++i) text += R"(,"a b")";
  EXPECT_THAT(error_of([&] { load(text + "]}}"); }).what, HasSubstr("too many merges"));
}

// Returns a tokenizer.json with the merges `merges`. Its tokens are `vocabulary` and the results of
// the merges.
Json bpe_of(const std::vector<std::pair<std::string, std::string>>& merges, Json vocabulary) {
  Json model = {{"type", "BPE"}, {"merges", Json::array()}};
  for (const auto& [left, right] : merges) {
    vocabulary.emplace(left + right, vocabulary.size());
    model["merges"].push_back({left, right});
  }
  model["vocab"] = std::move(vocabulary);
  return {{"model", std::move(model)}};
}

TEST(LimitsTest, ARunOfSpacesMayBeAsLongATokenAsItLikes) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (std::string run = "\u0120"; run.size() < 4096; run += run) merges.emplace_back(run, run);
  Json json = bpe_of(merges, {{"\u0120", 0}});
  json["pre_tokenizer"] = Json::parse(
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})");
  TokenizedRows rows;
  load(json.dump())->encode(std::string(2048, ' '), {}, rows);
  EXPECT_EQ(rows.ids, (std::vector<int32_t>{11}));
}

TEST(LimitsTest, TokensOfMoreThan32MiBInAllAreRefused) {
  const std::string half(17 << 20, 'x');
  const ErrorDetail error = error_of([&] {
    load(bpe_of({}, {{"a", 0}, {half, 1}, {"y" + half, 2}}).dump());
  });
  EXPECT_THAT(error.expected, HasSubstr("33554432 bytes in all"));
  EXPECT_THAT(error.found, HasSubstr("(17825793 bytes)"));
  EXPECT_LT(error.found.size(), 100U);
}

// Each model has a token of 256 KiB or more. The tokens and the texts consist of the letter 'a'.
TEST(LimitsTest, ATokenOfMegabytesIsNeitherSlowNorUnsafe) {
  const std::string piece(1 << 20, 'a');
  std::vector<std::pair<std::string, std::string>> merges;
  for (std::string run = "a"; run.size() < size_t{1} << 18; run += run)
    merges.emplace_back(run, run);
  const Json models[] = {
      bpe_of(merges, {{"a", 0}}),
      bpe_of({}, {{"a", 0}, {piece, 1}}),
      {{"model",
        {{"type", "WordPiece"},
         {"vocab", {{"?", 0}, {"a", 1}, {"##a", 2}, {piece, 3}, {"##" + piece, 4}}},
         {"unk_token", "?"},
         {"continuing_subword_prefix", "##"},
         {"max_input_chars_per_word", 1024}}}},
      {{"model", {{"type", "WordLevel"}, {"vocab", {{"?", 0}, {piece, 1}}}, {"unk_token", "?"}}}},
  };
  for (const Json& json : models) {
    const double start = testing::cpu_seconds();
    const auto tokenizer = load(json.dump());
    for (const size_t size : {size_t{1000}, piece.size() - 1, piece.size(), 2 * piece.size()})
      encode_one(*tokenizer, std::string(size, 'a'));
    EXPECT_LT(testing::cpu_seconds() - start, 10) << tokenizer->description();
  }
}

TEST(LimitsTest, ATextOver64MiBIsRefused) {
  const std::string text((64 << 20) + 1, 'a');
  for (const std::string family : {"wordpiece", "mistral", "sentencepiece_unigram"}) {
    const auto tokenizer = testing::load_family(family);
    const ErrorDetail error = error_of([&] { encode_one(*tokenizer, text); });
    EXPECT_EQ(error.code.name(), "tokenizer.too_long") << family;
    EXPECT_EQ(error.exit_code, ExitCode::kData) << family;
  }
}

TEST(LimitsTest, APatternThatBacktracksWithoutEndGivesUp) {
  auto json = Json::parse(family_file("wordpiece"));
  json["pre_tokenizer"] = Json::parse(
      R"({"type":"Split","pattern":{"Regex":"(?:a+)+[bc]"},"behavior":"Isolated","invert":false})");
  const auto tokenizer = load(json.dump());
  EXPECT_NO_THROW(encode_one(*tokenizer, "aaab aac"));
  const ErrorDetail error = error_of([&] { encode_one(*tokenizer, std::string(200, 'a')); });
  EXPECT_EQ(error.code.name(), "tokenizer.regex");
  EXPECT_EQ(error.exit_code, ExitCode::kData);
}

TEST(LimitsTest, ADamagedCharsmapIsRefusedOrBounded) {
  auto json = Json::parse(family_file("unigram"));
  Json& charsmap = json["normalizer"]["normalizers"][0]["precompiled_charsmap"];
  const auto whole = charsmap.get<std::string>();
  int refused = 0;
  for (size_t at = 0; at < whole.size(); at += 61) {
    std::string damaged = whole;
    damaged[at] = damaged[at] == 'z' ? 'A' : 'z';
    if (at % 2 == 0) damaged.resize(at / 4 * 4);
    charsmap = damaged;
    try {
      encode_one(*load(json.dump()), "e\xCC\x81 \xEF\xAC\x81 \xC2\xBD a");
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

// The field "truncation" of a tokenizer.json is ignored, even if its stride exceeds its max_length.
TEST(LimitsTest, StoredTruncationIsIgnoredWhateverItSays) {
  auto json = Json::parse(family_file("wordpiece"));
  json["truncation"] = {{"max_length", 1}, {"stride", 99}, {"strategy", "LongestFirst"}};
  TokenizedRows rows;
  load(json.dump())->encode("one two three", {}, rows);
  EXPECT_GT(rows.ids.size(), 3U);
}

}  // namespace
}  // namespace encode
