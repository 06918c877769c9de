// Tests that no component of a tokenizer can turn a short row into a long text: the row is refused,
// the error names the component, and the work is bounded.
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "golden_cases.h"
#include "support/error_of.h"
#include "support/temp_dir.h"
#include "tokenizer/rewrite_budget.h"

namespace encode {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

Json replace(const std::string& from, const std::string& to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

Json many(int count, const std::vector<Json>& steps) {
  Json all = Json::array();
  for (int i = 0; i < count; ++i) {
    for (const Json& step : steps) all.push_back(step);
  }
  return all;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63U];
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63U];
  text.resize((text.size() + 3) / 4 * 4, '=');
  return text;
}

void put(std::string& bytes, size_t unit, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[unit * 4 + i] = static_cast<char>(value >> 8 * i);
}

// Returns a charsmap of sentencepiece with one rule: the letter a becomes `replacement`.
std::string charsmap(const std::string& replacement) {
  std::string trie(4096, '\0');
  put(trie, 0, 256U << 10);                          // the root: its children are at 256 ^ byte
  put(trie, 256 ^ 'a', 'a' | 1U << 8 | 512U << 10);  // ends a rule
  put(trie, 256 ^ 'a' ^ 512, 0);                     // its replacement is at offset 0
  std::string size(4, '\0');
  put(size, 0, static_cast<uint32_t>(trie.size()));
  return size + trie + replacement + '\0';
}

// A tokenizer that makes the row "a" long.
struct Growing {
  const char* name;
  Json normalizers;
  Json pre_tokenizers;
  std::string found;  // a part of the error
  std::string row = "a";
};

std::ostream& operator<<(std::ostream& out, const Growing& growing) { return out << growing.name; }

std::vector<Growing> growing_tokenizers() {
  const Json none = Json::array();
  const Json byte_level = {{"type", "ByteLevel"}};
  const Json alphabet = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const Json split = {{"type", "Split"},
                      {"pattern", {{"String", "a"}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json fixed = {{"type", "FixedLength"}, {"length", 1}};
  const Json metaspace = {{"type", "Metaspace"}, {"replacement", "a"}, {"split", false}};
  const Json other_metaspace = {{"type", "Metaspace"}, {"replacement", "c"}, {"split", false}};
  const Json prefix = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
  return {
      {"ReplaceByte", many(30, {replace("a", "aaaaaaaa")}), none, "Sequence[6].Replace"},
      {"ReplaceByteAtOnce", many(3, {replace("a", std::string(8000, 'a'))}), none,
       "Sequence[1].Replace"},
      {"ReplaceString", many(30, {replace("aa", "aaaaaaaa"), replace("a", "aa")}), none,
       ".Replace"},
      {"ReplaceRegex",
       many(30, {{{"type", "Replace"}, {"pattern", {{"Regex", "[a-z]"}}}, {"content", "bcdefgh"}}}),
       none, "Sequence[6].Replace"},
      {"Prepend", many(300, {{{"type", "Prepend"}, {"prepend", std::string(8000, 'p')}}}), none,
       ".Prepend"},
      {"PrependAtOnce", many(1, {{{"type", "Prepend"}, {"prepend", std::string(3 << 20, 'p')}}}),
       none, "Sequence[0].Prepend"},
      {"Nfkd", many(20, {replace("a", "\uFDFA\uFDFA"), {{"type", "NFKD"}}, replace(" ", "a")}),
       none, "normalizer.Sequence["},
      {"Precompiled",
       many(10, {{{"type", "Precompiled"},
                  {"precompiled_charsmap", base64(charsmap(std::string(100, 'a')))}}}),
       none, "Sequence[3].Precompiled"},
      {"PrecompiledAtOnce",
       many(1, {{{"type", "Precompiled"},
                 {"precompiled_charsmap", base64(charsmap(std::string(3 << 20, 'a')))}}}),
       none, "Sequence[0].Precompiled"},
      {"ByteLevel", many(60, {byte_level}), none, ".ByteLevel", "\u00e9"},
      {"NothingManyTimes", many(200'000, {{{"type", "Nmt"}}}), none, ".Nmt"},
      {"Alphabet", none, many(60, {alphabet}), "pre_tokenizer.Sequence[", "\u00e9"},
      {"MetaspaceOfPieces", none, many(60, {fixed, metaspace, fixed, other_metaspace}),
       ".Metaspace", "b"},
      {"SpaceOfPieces", none, many(60, {fixed, prefix}), "pre_tokenizer.Sequence[", "b"},
      {"SplitManyTimes", none, many(200'000, {split}), ".Split"},
  };
}

std::unique_ptr<Tokenizer> load(const Json& json) {
  const testing::TempDir dir;
  return load_tokenizer(dir.write("tokenizer.json", json.dump()));
}

Json word_level() {
  return {{"model", {{"type", "WordLevel"}, {"vocab", {{"?", 0}}}, {"unk_token", "?"}}}};
}

int64_t peak_bytes() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * int64_t{1024};
}

class GrowthTest : public ::testing::TestWithParam<Growing> {};

TEST_P(GrowthTest, TheRowIsRefusedAndTheComponentNamed) {
  Json json = word_level();
  if (!GetParam().normalizers.empty())
    json["normalizer"] = {{"type", "Sequence"}, {"normalizers", GetParam().normalizers}};
  if (!GetParam().pre_tokenizers.empty())
    json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", GetParam().pre_tokenizers}};
  const auto tokenizer = load(json);
  const int64_t before = peak_bytes();
  TokenizedRows rows;
  std::vector<TokenOffset> offsets;
  for (const bool with_offsets : {false, true}) {
    const ErrorDetail error = error_of([&] {
      if (with_offsets) {
        tokenizer->encode_with_offsets(GetParam().row, {}, rows, offsets);
      } else {
        tokenizer->encode(GetParam().row, {.max_length = 8}, rows);
      }
    });
    EXPECT_EQ(error.code.name(), "tokenizer.growth");
    EXPECT_EQ(error.exit_code, ExitCode::kData);
    EXPECT_EQ(error.where, kUnnamedRow);
    EXPECT_THAT(error.found, HasSubstr(GetParam().found));
  }
  EXPECT_EQ(rows.size(), 0);
  EXPECT_LT(peak_bytes() - before, int64_t{256} << 20);
}

INSTANTIATE_TEST_SUITE_P(Components, GrowthTest, ::testing::ValuesIn(growing_tokenizers()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GrowthMessageTest, SaysWhatIsAllowedAndWhereItHappens) {
  Json json = word_level();
  json["normalizer"] = replace("a", std::string(3 << 20, 'b'));
  const testing::TempDir dir;
  const std::string file = dir.write("tokenizer.json", json.dump());
  TokenizedRows rows;
  const ErrorDetail error = error_of([&] { load_tokenizer(file)->encode("a", {}, rows); });
  EXPECT_EQ(error.what, "the tokenizer makes a text far too long");
  EXPECT_EQ(error.expected,
            "at most 1048608 bytes for a text of 1 byte, and at most 1049600 bytes for all its "
            "steps together");
  EXPECT_EQ(error.found, "more, in " + file + ": normalizer.Replace");
}

// The limit counts for a row and not for the text between two added tokens.
TEST(GrowthOfRowsTest, AddedTokensDoNotRenewTheBudget) {
  Json json = word_level();
  json["normalizer"] = replace("a", std::string(4000, 'b'));
  json["added_tokens"] = Json::parse(
      R"([{"id":1,"content":"|","single_word":false,"lstrip":false,"rstrip":false,
           "normalized":false,"special":true}])");
  const auto tokenizer = load(json);
  TokenizedRows rows;
  EXPECT_NO_THROW(tokenizer->encode("a|a|a", {}, rows));
  std::string row;
  for (int i = 0; i < 2000; ++i) row += "a|";
  EXPECT_EQ(error_of([&] { tokenizer->encode(row, {}, rows); }).code.name(), "tokenizer.growth");
}

TEST(GrowthAtLoadTest, AnAddedTokenThatGrowsIsRefused) {
  Json json = word_level();
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", many(30, {replace("a", "aaaaaaaa")})}};
  json["added_tokens"] = Json::parse(
      R"([{"id":1,"content":"a","single_word":false,"lstrip":false,"rstrip":false,
           "normalized":true,"special":false}])");
  const ErrorDetail error = error_of([&] { load(json); });
  EXPECT_EQ(error.code.name(), "tokenizer.format");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.what, "added token 'a' cannot be normalized");
  EXPECT_THAT(error.where, HasSubstr("added_tokens[0]"));
}

TEST(GrowthAtLoadTest, TooManySpecialTokensAreRefused) {
  const auto post_processor = [](int tokens) {
    Json json = word_level();
    json["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", Json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})},
        {"pair", Json::array()},
        {"special_tokens", {{"?", {{"id", "?"}, {"ids", {0}}, {"tokens", {"?"}}}}}}};
    for (int i = 0; i < tokens; ++i)
      json["post_processor"]["single"].push_back({{"SpecialToken", {{"id", "?"}, {"type_id", 0}}}});
    return json;
  };
  EXPECT_NO_THROW(load(post_processor(256)));
  const ErrorDetail error = error_of([&] { load(post_processor(257)); });
  EXPECT_EQ(error.code.name(), "tokenizer.format");
  EXPECT_EQ(error.what, "the post-processor adds too many special tokens");
  EXPECT_EQ(error.expected, "at most 256");
  Json chain = word_level();
  chain["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       many(200'000, {{{"type", "BertProcessing"}, {"sep", {"?", 0}}, {"cls", {"?", 0}}}})}};
  EXPECT_EQ(error_of([&] { load(chain); }).expected, "at most 256");
}

// The charsmap of a sentencepiece model works inside the sentencepiece library.
TEST(GrowthOfModelsTest, ACharsmapOfASentencePieceModelIsBounded) {
  const std::string map = charsmap(std::string(100'000, 'a'));
  const auto field = [](int number, const std::string& bytes) {
    std::string encoded(1, static_cast<char>(number << 3 | 2));
    for (size_t rest = bytes.size(); true; rest >>= 7) {
      encoded += static_cast<char>((rest & 127U) | (rest > 127 ? 128U : 0U));
      if (rest <= 127) break;
    }
    return encoded + bytes;
  };
  const std::string model =
      testing::read_bytes(testing::test_data("tokenizer/sentencepiece_unigram/tokenizer.model"));
  const testing::TempDir dir;
  const auto tokenizer =
      load_tokenizer(dir.write("tokenizer.model", model + field(3, field(2, map))));
  TokenizedRows rows;
  EXPECT_NO_THROW(tokenizer->encode("aaaaaaaaaa", {}, rows));
  const ErrorDetail error = error_of([&] { tokenizer->encode(std::string(1000, 'a'), {}, rows); });
  EXPECT_EQ(error.code.name(), "tokenizer.growth");
  EXPECT_EQ(error.found, "a charsmap with a replacement of 100000 bytes");
}

// U+FDFA grows most in NFKC, and a run of spaces grows most in Metaspace and in ByteLevel.
TEST(GrowthOfFamiliesTest, NoRowOfARealKindOfTokenizerIsRefused) {
  std::string longest;
  for (int i = 0; i < 30'000; ++i) longest += "\uFDFA";
  std::string accents;
  for (int i = 0; i < 30'000; ++i) accents += "\u1E69\u4E2D";
  for (const char* family :
       {"wordpiece", "wordpiece_cased", "gpt2", "roberta", "qwen2", "llama3", "gemma", "llama2",
        "unigram", "unigram_bytes", "mistral", "sentencepiece_bpe", "sentencepiece_unigram"}) {
    const auto tokenizer = testing::load_family(family);
    for (const std::string& text : {longest, accents, std::string(100'000, ' ')}) {
      TokenizedRows rows;
      EXPECT_NO_THROW(tokenizer->encode(text, {}, rows)) << family;
    }
  }
}

TEST(RewriteBudgetTest, CountsTheTextsThatAreReadAndWritten) {
  RewriteBudget budget(10);
  constexpr size_t kWork = RewriteBudget::kSlackBytes + 10 * RewriteBudget::kWorkFactor;
  size_t done = 0;
  while (done + 2 * 1000 + RewriteBudget::kStepBytes <= kWork) {
    budget.enter("step", 1000);
    budget.spend(1000);
    done += 2 * 1000 + RewriteBudget::kStepBytes;
  }
  EXPECT_THROW(
      {
        budget.enter("step", 1000);
        budget.spend(1000);
      },
      Error);
  budget.start(10);
  EXPECT_NO_THROW(budget.check(RewriteBudget::kSlackBytes + 10 * RewriteBudget::kTextFactor));
  EXPECT_THROW(budget.check(RewriteBudget::kSlackBytes + 10 * RewriteBudget::kTextFactor + 1),
               Error);
}

}  // namespace
}  // namespace encode
