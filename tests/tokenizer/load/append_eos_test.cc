// Tests the end token of gte-Qwen2 (TokenizerRecipe::kAppendEos).
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A word is one token. The file's own post-processor is ByteLevel, as in gte-Qwen2, or a template
// that begins with "hello".
std::string tokenizer_json(bool own_template) {
  const std::string byte_level = R"({"type":"ByteLevel","add_prefix_space":false,)"
                                 R"("trim_offsets":false,"use_regex":false})";
  const std::string hello = R"({"type":"TemplateProcessing","single":[{"SpecialToken":)"
                            R"({"id":"hello","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],)"
                            R"("pair":[{"Sequence":{"id":"A","type_id":0}},)"
                            R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"hello":)"
                            R"({"id":"hello","ids":[1],"tokens":["hello"]}}})";
  return R"({"model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{"[UNK]":0,"hello":1,)"
         R"("world":2}},"added_tokens":[{"id":3,"content":"[EOS]","single_word":false,)"
         R"("lstrip":false,"rstrip":false,"normalized":false,"special":true}],)"
         R"("pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":)" +
         (own_template ? hello : byte_level) + "}";
}

struct Files {
  std::string config;
  bool own_template = false;
  TokenizerRules rules = {.recipe = TokenizerRecipe::kAppendEos};
};

std::unique_ptr<Tokenizer> load(const Files& files) {
  TokenizerSource source;
  source.folder = "MODEL";
  source.files = {{"tokenizer.json", tokenizer_json(files.own_template)}};
  if (!files.config.empty()) source.files[kTokenizerConfigFile] = files.config;
  source.rules = files.rules;
  return load_tokenizer_from(std::move(source));
}

std::vector<int32_t> ids(const Files& files, const std::string& text = "hello world",
                         const TokenizeOptions& options = {}) {
  TokenizedRows rows;
  load(files)->encode(text, options, rows);
  return rows.ids;
}

std::string error_code(const Files& files) {
  try {
    load(files);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
    return std::string(error.detail().code.name());
  }
  return "";
}

const std::string kStated = R"({"add_eos_token": true, "eos_token": "[EOS]"})";

TEST(AppendEos, IsGovernedByAddEosToken) {
  EXPECT_THAT(ids({kStated}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({R"({"add_eos_token": false, "eos_token": "[EOS]"})"}), ElementsAre(1, 2));
  EXPECT_THAT(ids({R"({"eos_token": "[EOS]"})"}), ElementsAre(1, 2)) << "the default of that code";
  EXPECT_THAT(ids({R"({"add_eos_token": true,
               "eos_token": {"__type": "AddedToken", "content": "[EOS]", "special": true}})"}),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({R"({"add_eos_token": true, "eos_token": "world"})"}), ElementsAre(1, 2, 2))
      << "a token of the vocabulary";
  EXPECT_THAT(ids({kStated, false, {}}), ElementsAre(1, 2)) << "without the recipe";
}

TEST(AppendEos, ComesOnceAndInsideMaxLength) {
  EXPECT_THAT(ids({kStated}, "hello world hello", {.max_length = 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({kStated}, "hello", {.max_length = 1}), ElementsAre(3));
  EXPECT_THAT(ids({kStated}, ""), ElementsAre(3));
  EXPECT_THAT(ids({kStated}, "hello", {.add_special_tokens = false}), ElementsAre(1));
  EXPECT_THAT(ids({R"({"add_eos_token": true, "eos_token": "[EOS]", "truncation_side": "left"})"},
                  "hello world hello", {.max_length = 3}),
              ElementsAre(2, 1, 3));
}

// The code replaces the post-processor of tokenizer.json.
TEST(AppendEos, ReplacesTheFilesOwnTemplate) {
  EXPECT_THAT(ids({kStated, true}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({R"({"add_eos_token": false})", true}), ElementsAre(1, 2));
  const TokenizerRules as_in_file = {.special_tokens = SpecialTokensRule::kAsInTokenizerJson,
                                     .recipe = TokenizerRecipe::kAppendEos};
  EXPECT_THAT(ids({kStated, true, as_in_file}), ElementsAre(1, 1, 2));
  EXPECT_THAT(ids({R"({})", true, as_in_file}), ElementsAre(1, 1, 2));
}

// transformers 5 does not save add_eos_token, and it names its backend.
TEST(AppendEos, WithoutTheKeyTheFilesMustAgree) {
  EXPECT_EQ(error_code({R"({"eos_token": "[EOS]"})", true}), "tokenizer.contradiction");
  EXPECT_THAT(ids({R"({"eos_token": "[EOS]", "backend": "tokenizers"})", true}),
              ElementsAre(1, 1, 2));
}

TEST(AppendEos, ATokenThatIsNotThereIsRefused) {
  EXPECT_EQ(error_code({R"({"add_eos_token": true})"}), "tokenizer.format") << "<|endoftext|>";
  EXPECT_EQ(error_code({R"({"add_eos_token": true, "eos_token": null})"}), "tokenizer.format");
  EXPECT_EQ(error_code({R"({"add_eos_token": true, "eos_token": 3})"}), "tokenizer.format");
  EXPECT_EQ(error_code({R"({"add_eos_token": "yes"})"}), "tokenizer.format");
}

}  // namespace
}  // namespace encode
