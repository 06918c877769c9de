// Tests that a directory gives the ids of transformers' AutoTokenizer, which
// scripts/reference/check_auto_tokenizer.py has recorded for random combinations of files and keys.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "golden_cases.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using Ids = std::vector<int32_t>;

std::string replaced(std::string text, const std::string& old, const std::string& other) {
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + other.size()))
    text.replace(at, old.size(), other);
  return text;
}

// Returns the tokenizer.json of a record. If the record has no model, the model is taken from the
// base tokenizer.
std::string tokenizer_json_of(const Json& record) {
  Json tokenizer = record["files"]["tokenizer.json"];
  if (tokenizer.contains("model")) return tokenizer.dump();
  std::string text = testing::read_bytes(
      testing::tokenizer_data(record["base"].get<std::string>()) + "/tokenizer.json");
  for (const auto& [old, other] : record["renames"].items())
    text = replaced(std::move(text), old, other.get<std::string>());
  tokenizer["model"] = Json::parse(text)["model"];
  return tokenizer.dump();
}

TokenizerSource source_of(const Json& record) {
  return make_tokenizer_source("MODEL", [&](const std::string& name) -> std::optional<std::string> {
    if (name == "tokenizer.json") return tokenizer_json_of(record);
    const Json& files = record["files"];
    return files.contains(name) ? std::optional(files[name].dump()) : std::nullopt;
  });
}

std::vector<Ids> encode_all(const Tokenizer& tokenizer, const Json& texts, int64_t max_length) {
  TokenizedRows rows;
  std::vector<Ids> ids;
  for (const Json& text : texts) {
    tokenizer.encode(text.get<std::string>(), {.max_length = max_length}, rows);
    const auto row = rows.row(rows.size() - 1);
    ids.emplace_back(row.begin(), row.end());
  }
  return ids;
}

TEST(AutoTokenizerTest, GivesTheIdsOfTransformersOrRefuses) {
  const std::vector<Json> records = testing::read_cases("auto_tokenizer.jsonl");
  ASSERT_GT(records.size(), 50U);
  for (const Json& record : records) {
    SCOPED_TRACE(record["class"].dump() + " " +
                 record["files"].value("tokenizer_config.json", Json()).dump());
    if (record["ids"].is_null()) {
      EXPECT_EQ(testing::error_of([&] { load_tokenizer_from(source_of(record)); }).exit_code,
                ExitCode::kConfig);
      continue;
    }
    const auto tokenizer = load_tokenizer_from(source_of(record));
    EXPECT_EQ(encode_all(*tokenizer, record["texts"], 0), record["ids"][0].get<std::vector<Ids>>());
    EXPECT_EQ(encode_all(*tokenizer, record["texts"], record["length"].get<int64_t>()),
              record["ids"][1].get<std::vector<Ids>>());
  }
}

// A tokenizer with the tokens "a", "b", "<s>" and "</s>". Files and keys are added to it.
class TokenizerFiles {
 public:
  TokenizerFiles() { files_["tokenizer.json"] = tokenizer_; }

  TokenizerFiles& config(Json value) { return file("tokenizer_config.json", std::move(value)); }
  TokenizerFiles& file(const std::string& name, Json value) {
    files_[name] = std::move(value);
    return *this;
  }
  TokenizerFiles& part(const char* key, Json value) {
    files_["tokenizer.json"][key] = std::move(value);
    return *this;
  }
  TokenizerFiles& rules(const TokenizerRules& rules) {
    rules_ = rules;
    return *this;
  }

  std::unique_ptr<Tokenizer> load() const {
    TokenizerSource source =
        make_tokenizer_source("MODEL", [&](const std::string& name) -> std::optional<std::string> {
          const auto found = files_.find(name);
          return found == files_.end() ? std::nullopt : std::optional(found->second.dump());
        });
    source.rules = rules_;
    return load_tokenizer_from(std::move(source));
  }
  Ids ids(const std::string& text, int64_t max_length = 0) const {
    return encode_all(*load(), Json::array({text}), max_length).at(0);
  }
  ErrorDetail error() const {
    return testing::error_of([&] { load(); });
  }

 private:
  const Json tokenizer_ = {
      {"model",
       {{"type", "WordLevel"},
        {"unk_token", "<unk>"},
        {"vocab", {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}, {"a", 3}, {"b", 4}}}}},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"added_tokens", Json::array()}};
  std::map<std::string, Json> files_;
  TokenizerRules rules_;
};

const Json kLlama = {{"tokenizer_class", "LlamaTokenizer"}};

Json llama(const Json& keys) {
  Json config = kLlama;
  config.update(keys);
  return config;
}

TEST(AutoTokenizerTest, AStatedKeyDecidesAboutTheTokensAroundAText) {
  TokenizerFiles files;
  EXPECT_EQ(files.config(llama({{"add_eos_token", true}})).ids("a b"), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(files.config(llama({{"add_bos_token", false}})).ids("a b"), (Ids{3, 4}));
  // The token comes once, and max_length keeps room for it.
  files.config(llama({{"add_bos_token", false}, {"add_eos_token", true}}));
  EXPECT_EQ(files.ids("a b a b", 3), (Ids{3, 4, 2}));
  EXPECT_NE(files.load()->description().find("every row: text '</s>'"), std::string::npos);
  // Other classes ignore the keys.
  files.config({{"tokenizer_class", "PreTrainedTokenizerFast"}, {"add_eos_token", true}});
  EXPECT_EQ(files.ids("a b"), (Ids{3, 4}));
}

TEST(AutoTokenizerTest, WithoutAKeyTheFileMustAgreeWithTheClass) {
  TokenizerFiles files;
  const ErrorDetail error = files.config(kLlama).error();
  EXPECT_EQ(error.code.name(), "tokenizer.contradiction");
  EXPECT_NE(error.expected.find("[1] before"), std::string::npos) << error.expected;
  EXPECT_NE(error.found.find("[] before"), std::string::npos) << error.found;
  EXPECT_NE(error.hint.find("special_tokens: as_in_tokenizer_json"), std::string::npos);
  EXPECT_EQ(files.config(llama({{"backend", "tokenizers"}})).ids("a"), (Ids{3}));
  files.config(kLlama).rules({.special_tokens = SpecialTokensRule::kAsInTokenizerJson});
  EXPECT_EQ(files.ids("a"), (Ids{3}));
}

TEST(AutoTokenizerTest, AnAddedTokenKeepsTheIdThatIsStatedForItOrIsRefused) {
  const auto decoder = [](const char* id) {
    return Json{{"added_tokens_decoder", {{id, {{"content", "<new>"}, {"special", true}}}}}};
  };
  TokenizerFiles files;
  EXPECT_EQ(files.config(decoder("5")).ids("a<new>b"), (Ids{3, 5, 4}));
  const ErrorDetail error = files.config(decoder("7")).error();
  EXPECT_EQ(error.code.name(), "tokenizer.contradiction");
  EXPECT_NE(error.expected.find("id 5"), std::string::npos);
  EXPECT_NE(error.found.find("id 7"), std::string::npos);
}

TEST(AutoTokenizerTest, ThePaddingOfTokenizerJsonNamesASpecialToken) {
  TokenizerFiles files;
  files.part("padding", {{"pad_token", "<s>"}});
  files.config({{"tokenizer_class", "PreTrainedTokenizerFast"}});
  EXPECT_EQ(files.ids("a<s>b"), (Ids{3, 1, 4}));
  files.config({{"tokenizer_class", "PreTrainedTokenizerFast"}, {"pad_token", nullptr}});
  EXPECT_EQ(files.ids("a<s>b"), (Ids{0}));
}

TEST(AutoTokenizerTest, AClassThatDoesNotReadTokenizerJsonIsRefused) {
  for (const char* name : {"PhobertTokenizer", "BertJapaneseTokenizer", "WhisperTokenizerFast"}) {
    TokenizerFiles files;
    const ErrorDetail error = files.config({{"tokenizer_class", name}}).error();
    EXPECT_EQ(error.code.name(), "tokenizer.unsupported") << name;
    EXPECT_NE(error.found.find(name), std::string::npos);
  }
}

TEST(AutoTokenizerTest, TheClassesWithLanguagesPutOneBesideAText) {
  TokenizerFiles files;
  files.part("added_tokens", {{{"id", 5},
                               {"content", "de_DE"},
                               {"single_word", false},
                               {"lstrip", false},
                               {"rstrip", false},
                               {"normalized", false},
                               {"special", true}}});
  // MBart adds its other languages before the stated tokens, MBart50 after them.
  files.config({{"tokenizer_class", "MBartTokenizer"}, {"src_lang", "de_DE"}});
  EXPECT_EQ(files.ids("a ar_AR"), (Ids{3, 8, 2, 5}));  // 6 is <pad>, and 7 is <mask>
  files.config({{"tokenizer_class", "MBart50TokenizerFast"},
                {"src_lang", "de_DE"},
                {"additional_special_tokens", {"<x>"}}});
  EXPECT_EQ(files.ids("a<x>"), (Ids{5, 3, 8, 2}));
  files.config({{"tokenizer_class", "MBartTokenizer"}, {"src_lang", "xx"}});
  EXPECT_EQ(files.error().code.name(), "tokenizer.format");
  Json nllb = {{"tokenizer_class", "NllbTokenizer"}, {"src_lang", "de_DE"}};
  EXPECT_EQ(files.config(nllb).error().code.name(), "tokenizer.unsupported");
  nllb["additional_special_tokens"] = {"de_DE"};
  EXPECT_EQ(files.config(nllb).ids("a"), (Ids{5, 3, 2}));
  nllb["legacy_behaviour"] = true;
  EXPECT_EQ(files.config(nllb).ids("a"), (Ids{3, 2, 5}));
}

TEST(AutoTokenizerTest, AnEmptyListKeepsTheTokensOfTheClassAway) {
  Json config = {{"tokenizer_class", "CamembertTokenizer"}};
  EXPECT_NE(TokenizerFiles().config(config).ids("<unk>NOTUSED"), (Ids{0}));
  config["additional_special_tokens"] = nullptr;
  EXPECT_EQ(TokenizerFiles().config(config).ids("<unk>NOTUSED"), (Ids{0, 0}));
}

TEST(AutoTokenizerTest, ClipNeedsASequenceOfPreTokenizers) {
  TokenizerFiles files;
  const ErrorDetail error = files.config({{"tokenizer_class", "CLIPTokenizerFast"}}).error();
  EXPECT_EQ(error.code.name(), "tokenizer.unsupported");
  EXPECT_NE(error.found.find("WhitespaceSplit"), std::string::npos);
  files.part("pre_tokenizer",
             {{"type", "Sequence"}, {"pretokenizers", {{{"type", "WhitespaceSplit"}}}}});
  EXPECT_EQ(files.ids("a b"), (Ids{3, 4}));
}

TEST(AutoTokenizerTest, TypeIdsAreThoseOfThePostProcessorIfTheClassHandsThemOver) {
  const auto piece = [](const char* token, int type) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  TokenizerFiles files;
  files.part("post_processor",
             {{"type", "TemplateProcessing"},
              {"single",
               {piece("<s>", 2), {{"Sequence", {{"id", "A"}, {"type_id", 1}}}}, piece("</s>", 0)}},
              {"special_tokens", {{"<s>", {{"ids", {1}}}}, {"</s>", {{"ids", {2}}}}}}});
  files.config({{"tokenizer_class", "PreTrainedTokenizerFast"}});
  const RowTypeIds types = files.load()->type_ids();
  EXPECT_EQ(types, (RowTypeIds{{2}, 1, {0}}));
  Ids row(4);
  fill_type_ids(types, true, row);
  EXPECT_EQ(row, (Ids{2, 1, 1, 0}));
  fill_type_ids(types, false, row);
  EXPECT_EQ(row, (Ids{1, 1, 1, 1}));
  Ids short_row(1);
  fill_type_ids(types, true, short_row);
  EXPECT_EQ(short_row, (Ids{2}));
  files.config({{"tokenizer_class", "XLMRobertaTokenizer"}});
  EXPECT_TRUE(files.load()->type_ids().all_zero());
  files.config({{"tokenizer_class", "XLMRobertaTokenizer"},
                {"model_input_names", {"input_ids", "token_type_ids"}}});
  EXPECT_FALSE(files.load()->type_ids().all_zero());
}

TEST(AutoTokenizerTest, ALfsPointerIsNamedWhateverFileItStandsFor) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n";
  for (const char* name :
       {"tokenizer.json", "spiece.model", "tokenizer_config.json", "vocab.txt"}) {
    const ErrorDetail error = testing::error_of([&] {
      make_tokenizer_source("MODEL", [&](const std::string& file) -> std::optional<std::string> {
        return file == name ? std::optional(pointer) : std::nullopt;
      });
    });
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_NE(error.what.find("Git LFS pointer"), std::string::npos);
    EXPECT_EQ(error.where, std::string("MODEL/") + name);
  }
}

TEST(AutoTokenizerTest, AByteOrderMarkIsNoPartOfTokenizerJson) {
  const testing::TempDir dir;
  const std::string json = testing::read_bytes(testing::tokenizer_data("wordpiece/tokenizer.json"));
  const std::string marked = dir.write("tokenizer.json", "\xEF\xBB\xBF" + json);
  const std::string plain = testing::tokenizer_data("wordpiece/tokenizer.json");
  const Json texts = {"hello world"};
  EXPECT_EQ(encode_all(*load_tokenizer(marked), texts, 0),
            encode_all(*load_tokenizer(plain), texts, 0));
}

TEST(AutoTokenizerTest, TheOtherKeysShowTheTypeOfAModel) {
  for (const char* family : {"wordpiece", "gpt2", "unigram"}) {
    const testing::TempDir dir;
    const std::string file = testing::tokenizer_data(family) + std::string("/tokenizer.json");
    Json json = Json::parse(testing::read_bytes(file));
    json["model"].erase("type");
    const auto tokenizer = load_tokenizer(dir.write("tokenizer.json", json.dump()));
    const Json texts = {"The quick br\xC3\xB6wn fox"};
    EXPECT_EQ(encode_all(*tokenizer, texts, 0), encode_all(*load_tokenizer(file), texts, 0));
    EXPECT_EQ(tokenizer->description(), load_tokenizer(file)->description());
  }
}

}  // namespace
}  // namespace encode
