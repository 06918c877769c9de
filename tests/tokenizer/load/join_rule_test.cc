// Tests that the ids of texts can be joined where PipelineParts::joins says so.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "encode/tokenizer.h"

#include "base/json.h"
#include "golden_cases.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/grapheme_break.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using testing::load_family;

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  TokenizedRows rows;
  tokenizer.encode(text, {.add_special_tokens = false}, rows);
  return rows.ids;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<size_t> joins_of(const JoinableTokenizer& tokenizer, std::string_view text) {
  const bool after_spaces = tokenizer.joins() == JoinPlaces::kAfterSpaces;
  std::vector<size_t> joins;
  for (size_t at = 1; at < text.size(); ++at) {
    const bool between_words = text[at] == ' ' && is_letter(text[at - 1]) && at + 1 < text.size() &&
                               is_letter(text[at + 1]);
    const bool after_space = after_spaces && (text[at - 1] == ' ' || text[at - 1] == '\n') &&
                             !unicode::is_continuation(text[at]) &&
                             unicode::cluster_end(text, at - 1) == at;
    if (between_words || after_space) joins.push_back(at);
  }
  return joins;
}

void expect_joins(const JoinableTokenizer& tokenizer, std::string_view text) {
  const std::vector<int32_t> whole = ids_of(tokenizer, text);
  for (const size_t at : joins_of(tokenizer, text)) {
    std::vector<int32_t> joined = ids_of(tokenizer, text.substr(0, at));
    const std::vector<int32_t> rest = ids_of(tokenizer, text.substr(at));
    joined.insert(joined.end(), rest.begin(), rest.end());
    ASSERT_EQ(joined, whole) << "cut at byte " << at << " of '" << text << "'";
  }
}

// Words that the place of a cut is between, and what could reach across it.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "word",  "The",  "a",      "s",       "I",      "'s",     "'ll",          "x1",       "9",
      "[SEP]", "</s>", "<s>",    "e\u0301", "\u0600", "\u2581", "\u017F",       "[MASK]",   "don't",
      ".",     ",",    "\n",     "  ",      "\t",     "\u00A0", "\u5B57",       "fi\uFB01", "Z",
      "_",     "-",    "<mask>", "\u200D",  "\u0130", "\u03A3", "<|endoftext|>"};
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += kPieces[random() % kPieces.size()];
    if (random() % 3 != 0) text += ' ';
  }
  return text;
}

TEST(JoinRule, TheIdsOfPartsAreThoseOfTheText) {
  constexpr auto kNone = JoinPlaces::kNone;
  constexpr auto kBetweenWords = JoinPlaces::kBetweenWords;
  const std::map<std::string, JoinPlaces> families = {
      {"gemma", kNone},
      {"llama2", kNone},
      {"sentencepiece_bpe", kNone},
      {"roberta", kNone},  // its added token "world" takes the white space after it
      {"gpt2", kBetweenWords},
      {"llama3", kBetweenWords},
      {"qwen2", kBetweenWords},
      {"unigram", kBetweenWords},
      {"unigram_bytes", kBetweenWords},
      {"wordpiece", JoinPlaces::kAfterSpaces},
      {"wordpiece_cased", JoinPlaces::kAfterSpaces}};
  std::mt19937 random(11);
  for (const auto& [family, places] : families) {
    SCOPED_TRACE(family);
    const auto tokenizer = load_family(family);
    const JoinableTokenizer* found = joinable(*tokenizer);
    EXPECT_EQ(found == nullptr ? kNone : found->joins(), places);
    if (found == nullptr) continue;
    for (int i = 0; i < 100; ++i) expect_joins(*found, random_text(random));
  }
}

// A small tokenizer for each normalizer and each pre-tokenizer.
TEST(JoinRule, HoldsForEveryComponentThatItNames) {
  const testing::TempDir dir;
  std::mt19937 random(12);
  std::vector<std::string> texts;
  const std::string path = testing::tokenizer_data("component_texts.json");
  for (const Json& text : Json::parse(testing::read_bytes(path)))
    texts.push_back(text.get<std::string>());
  for (int i = 0; i < 20; ++i) texts.push_back(random_text(random));
  int joined = 0;
  for (const char* part : {"components_1.jsonl", "components_2.jsonl", "components_3.jsonl"}) {
    for (const Json& component : testing::read_cases(part)) {
      SCOPED_TRACE(component["name"].get<std::string>());
      const auto tokenizer =
          load_tokenizer(dir.write("tokenizer.json", component["tokenizer"].dump()));
      const JoinableTokenizer* found = joinable(*tokenizer);
      if (found == nullptr) continue;
      ++joined;
      for (const std::string& text : texts) expect_joins(*found, text);
    }
  }
  EXPECT_GT(joined, 5);
}

// Returns the tokenizer of a family with another part.
std::unique_ptr<Tokenizer> family_with(const std::string& family, const std::string& key,
                                       const Json& value) {
  const testing::TempDir dir;
  const std::string file = testing::tokenizer_data(family + "/tokenizer.json");
  Json json = Json::parse(testing::read_bytes(file));
  if (key == "added_tokens") {
    const Json& vocabulary = json["model"]["vocab"];
    const auto next = static_cast<int64_t>(vocabulary.size()) +
                      std::ranges::count_if(json[key], [&](const Json& token) {
                        return !vocabulary.contains(token["content"].get<std::string>());
                      });
    Json token = {{"id", next},      {"single_word", false}, {"lstrip", false},
                  {"rstrip", false}, {"normalized", false},  {"special", false}};
    token.update(value);
    json[key].push_back(token);
  } else {
    json[key] = value;
  }
  return load_tokenizer(dir.write("tokenizer.json", json.dump()));
}

TEST(JoinRule, RefusesWhatReachesAcrossASpace) {
  const auto joins = [](const std::string& key, const Json& value) {
    return joinable(*family_with("gpt2", key, value)) != nullptr;
  };
  EXPECT_TRUE(joins("added_tokens", {{"content", "zqzq"}}));
  EXPECT_FALSE(joins("added_tokens", {{"content", "zqzq york"}}));
  EXPECT_FALSE(joins("added_tokens", {{"content", "zqzq"}, {"rstrip", true}}));
  EXPECT_FALSE(joins("added_tokens", {{"content", " zqzq"}, {"single_word", true}}));
  EXPECT_FALSE(
      joins("normalizer", {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}));
  EXPECT_FALSE(joins("normalizer",
                     {{"type", "Replace"}, {"pattern", {{"String", "a b"}}}, {"content", "c"}}));
  EXPECT_FALSE(joins("normalizer", {{"type", "Prepend"}, {"prepend", "x"}}));
  EXPECT_FALSE(joins("pre_tokenizer", nullptr));
  EXPECT_FALSE(joins("pre_tokenizer", {{"type", "FixedLength"}, {"length", 5}}));
  // After the space of such a token, the ids of WordPiece depend on what is before it.
  const Json spaced = {{"content", ". x"}};
  EXPECT_TRUE(joins("added_tokens", spaced));
  EXPECT_EQ(joinable(*family_with("wordpiece", "added_tokens", spaced)), nullptr);
}

}  // namespace
}  // namespace encode
