#include "tokenizer/load/tokenizer_class.h"

#include <optional>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

TokenizerSource source_with(const std::string& config) {
  return make_tokenizer_source("MODEL", [&](const std::string& name) -> std::optional<std::string> {
    if (name == "config.json") return config;
    return std::nullopt;
  });
}

TEST(TokenizerClassTest, TheFilesStateTheClassInTheOrderOfAutoTokenizer) {
  const TokenizerSource both =
      source_with(R"({"model_type":"bert","tokenizer_class":"XLMRobertaTokenizer"})");
  EXPECT_EQ(choose_tokenizer_class(both, "GemmaTokenizerFast").value, TokenizerClass::kGemma);
  EXPECT_EQ(choose_tokenizer_class(both, "").value, TokenizerClass::kXlmRoberta);
  const ChosenClass of_type = choose_tokenizer_class(source_with(R"({"model_type":"bert"})"), "");
  EXPECT_EQ(of_type.value, TokenizerClass::kBert);
  EXPECT_EQ(of_type.name, "BertTokenizer");
  EXPECT_EQ(of_type.where, "config.json: model_type");
}

TEST(TokenizerClassTest, AClassThatIsNotInTheTableKeepsItsName) {
  const ChosenClass chosen = choose_tokenizer_class(source_with("{}"), "MyTokenizer");
  EXPECT_EQ(chosen.value, TokenizerClass::kUnknown);
  EXPECT_EQ(chosen.name, "MyTokenizer");
  EXPECT_EQ(choose_tokenizer_class(source_with("{}"), "").name, "");
}

TEST(TokenizerClassTest, AClassThatIsAnotherOneByNameHasItsRules) {
  const TokenizerSource none = source_with("{}");
  EXPECT_EQ(choose_tokenizer_class(none, "DPRContextEncoderTokenizer").value,
            TokenizerClass::kBert);
  EXPECT_EQ(choose_tokenizer_class(none, "LEDTokenizerFast").value, TokenizerClass::kBart);
  EXPECT_EQ(choose_tokenizer_class(source_with(R"({"model_type":"code_llama"})"), "").value,
            TokenizerClass::kCodeLlama);
}

TEST(TokenizerClassTest, AModelTypeHasOneClass) {
  std::set<std::string_view> types;
  for (const TokenizerClassRow& row : tokenizer_classes()) {
    for (const std::string_view type : row.model_types)
      EXPECT_TRUE(types.insert(type).second) << type;
  }
}

}  // namespace
}  // namespace encode
