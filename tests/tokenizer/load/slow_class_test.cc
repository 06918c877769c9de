// Tests that directories without a tokenizer.json give the ids of transformers.
// scripts/reference/older_tokenizers.py has recorded the ids of directories with a sentencepiece
// model.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "golden_cases.h"
#include "support/error_of.h"
#include "support/temp_dir.h"
#include "tokenizer/load/slow_class_rules.h"

namespace encode {
namespace {

using Ids = std::vector<int32_t>;

std::string decode_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6U | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> static_cast<uint32_t>(count));
  }
  return bytes;
}

Ids ids_of(const Tokenizer& tokenizer, const std::string& text, int64_t max_length = 0) {
  TokenizedRows rows;
  tokenizer.encode(text, {.max_length = max_length}, rows);
  return rows.ids;
}

TEST(SlowClassTest, EveryRecordedDirectoryGivesTheIdsOfTransformers) {
  size_t directories = 0;
  for (const Json& item : testing::read_cases("slow_tokenizers.jsonl")) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const testing::TempDir dir;
    for (const auto& [name, content] : item["files"].items()) {
      const auto text = content.get<std::string>();
      dir.write(name, name.ends_with(".model") ? decode_base64(text) : text);
    }
    const auto tokenizer = load_tokenizer_from_directory(dir.path());
    for (size_t i = 0; i < item["texts"].size(); ++i) {
      const auto text = item["texts"][i].get<std::string>();
      EXPECT_EQ(ids_of(*tokenizer, text), item["ids"][i].get<Ids>()) << item["texts"][i].dump();
      EXPECT_EQ(ids_of(*tokenizer, text, 5), item["short"][i].get<Ids>())
          << item["texts"][i].dump();
    }
    ++directories;
  }
  EXPECT_GT(directories, 15U);
}

// Writes vocab.txt, or vocab.json and merges.txt, of a tokenizer.json.
void write_older_files(const Json& model, const testing::TempDir& dir) {
  if (model["type"] == "WordPiece") {
    std::vector<std::string> lines(model["vocab"].size());
    for (const auto& [token, id] : model["vocab"].items()) lines[id.get<size_t>()] = token;
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    dir.write("vocab.txt", text);
    return;
  }
  dir.write("vocab.json", model["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : model["merges"]) {
    merges += merge.is_string() ? merge.get<std::string>()
                                : merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    merges += "\n";
  }
  dir.write("merges.txt", merges);
}

TEST(SlowClassTest, TheOlderFilesOfATokenizerJsonGiveItsIds) {
  struct Family {
    std::string name;
    Json config;
  };
  const std::vector<Family> families = {{"wordpiece", {{"tokenizer_class", "BertTokenizer"}}},
                                        {"gpt2", {{"tokenizer_class", "GPT2Tokenizer"}}},
                                        {"qwen2", {{"tokenizer_class", "Qwen2TokenizerFast"}}}};
  for (const Family& family : families) {
    SCOPED_TRACE(family.name);
    const testing::TempDir dir;
    const Json json =
        Json::parse(testing::read_bytes(testing::tokenizer_data(family.name + "/tokenizer.json")));
    write_older_files(json["model"], dir);
    dir.write("tokenizer_config.json", family.config.dump());
    const auto older = load_tokenizer_from_directory(dir.path());
    for (const Json& expected : testing::read_cases(family.name + "/cases.jsonl"))
      EXPECT_EQ(ids_of(*older, expected["text"].get<std::string>()), expected["ids"].get<Ids>())
          << expected["text"].dump();
  }
}

ErrorDetail refusal_of(const std::vector<std::pair<std::string, std::string>>& files) {
  const testing::TempDir dir;
  for (const auto& [name, content] : files) dir.write(name, content);
  return testing::error_of([&] { load_tokenizer_from_directory(dir.path()); });
}

TEST(SlowClassTest, WhatNoRuleDecidesIsRefused) {
  const std::string bert = R"({"tokenizer_class": "BertTokenizer"})";
  const std::string gpt2 = R"({"tokenizer_class": "GPT2Tokenizer"})";
  const std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n";
  const std::string ids = R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})";
  struct Refusal {
    std::vector<std::pair<std::string, std::string>> files;
    std::string code;
    std::string what;
  };
  const std::vector<Refusal> refusals = {
      {{{"vocab.txt", vocab}}, "tokenizer.unsupported", "no file states the class"},
      {{{"vocab.txt", vocab}, {"tokenizer_config.json", R"({"tokenizer_class": "OwnTokenizer"})"}},
       "tokenizer.unsupported",
       "'OwnTokenizer' is not supported without a tokenizer.json"},
      {{{"spm.model", "x"}, {"tokenizer_config.json", bert}},
       "tokenizer.unsupported",
       "is missing"},
      {{{"vocab.txt", "[UNK]\nhello\n"}, {"tokenizer_config.json", bert}},
       "tokenizer.format",
       "that the vocabulary does not have"},
      {{{"vocab.txt", vocab + "\xFF\n"}, {"tokenizer_config.json", bert}},
       "tokenizer.format",
       "not UTF-8"},
      {{{"vocab.txt", vocab},
        {"tokenizer_config.json", bert},
        {"added_tokens.json", R"({"[X]": 9})"}},
       "tokenizer.contradiction",
       "cannot have the id"},
      {{{"vocab.json", ids}, {"tokenizer_config.json", gpt2}},
       "tokenizer.unsupported",
       "merges.txt"},
      {{{"vocab.json", ids}, {"merges.txt", "a b\n"}, {"tokenizer_config.json", gpt2}},
       "tokenizer.format",
       "does not begin with its version"},
      {{{"vocab.json", ids},
        {"merges.txt", "#version: 0.2\na c\n"},
        {"tokenizer_config.json", gpt2}},
       "tokenizer.format",
       ""},
      {{{"tokenizer.model", "not a model"},
        {"tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})"}},
       "tokenizer.format",
       "not a sentencepiece model"}};
  for (const Refusal& refusal : refusals) {
    const ErrorDetail error = refusal_of(refusal.files);
    EXPECT_EQ(error.code.name(), refusal.code) << error.what;
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_NE(error.what.find(refusal.what), std::string::npos) << error.what;
  }
}

TEST(SlowClassTest, EveryFileOfARuleIsAFileOfTokenizers) {
  std::set<std::string_view> files;
  for (const TokenizerClassRow& row : tokenizer_classes()) {
    const SlowClassRules* rules = find_slow_class_rules(row.value);
    if (rules != nullptr) files.insert(rules->file);
  }
  EXPECT_GT(files.size(), 5U);
  for (const std::string_view file : files)
    EXPECT_NE(std::ranges::find(kTokenizerFiles, file), kTokenizerFiles.end()) << file;
}

// The ids are those of transformers 4.57.6.
TEST(SlowClassTest, EsmFindsALongAddedTokenBeforeTheLettersInIt) {
  const testing::TempDir dir;
  dir.write("vocab.txt", "<cls>\n<pad>\n<eos>\n<unk>\nB\nN\n");
  dir.write("tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer"})");
  dir.write("added_tokens.json", R"({"Brand New": 6})");
  EXPECT_EQ(ids_of(*load_tokenizer_from_directory(dir.path()), "Brand New N"), (Ids{0, 6, 5, 2}));
}

TEST(SlowClassTest, EsmRefusesTheKeysThatItsPythonCodeReadsInAnotherWay) {
  for (const char* keys :
       {R"("split_special_tokens": true)",
        R"("cls_token": {"__type": "AddedToken", "content": "<cls>", "single_word": true})"}) {
    const testing::TempDir dir;
    dir.write("vocab.txt", "<cls>\n<pad>\n<eos>\n<unk>\n<mask>\nB\n");
    dir.write("tokenizer_config.json",
              std::string(R"({"tokenizer_class": "EsmTokenizer", )") + keys + "}");
    EXPECT_EQ(testing::error_of([&] { load_tokenizer_from_directory(dir.path()); }).code.name(),
              "tokenizer.unsupported")
        << keys;
  }
}

}  // namespace
}  // namespace encode
