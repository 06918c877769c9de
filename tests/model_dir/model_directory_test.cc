// Tests valid model directories: their fields, the precedence of the limits, and the defaults
// without modules.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/refused.h"
#include "tiny_model.h"

namespace encode {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::refused;
using testing::TempDir;
using testing::TinyModel;

std::string config(const std::string& fields) { return R"({"vocab_size": 10, )" + fields + "}"; }

TEST(ModelDirectory, SoundDirectoryOpensWithoutWarnings) {
  const ModelDirectory directory = TinyModel().open();
  EXPECT_EQ(directory.model_type, "bert");
  EXPECT_EQ(directory.hidden_size, 4);
  EXPECT_EQ(directory.vocab_size, 10);
  EXPECT_EQ(directory.max_position_embeddings, 32);
  EXPECT_EQ(directory.config_json, testing::kTinyConfig);
  EXPECT_EQ(directory.tensors.size(), 2u);
  EXPECT_THAT(directory.warnings, IsEmpty());
}

TEST(ModelDirectory, FilesAreAllThatCanChangeAResultSortedByName) {
  std::vector<std::string> names;
  for (const ModelFile& file : TinyModel().open().files) names.push_back(file.name);
  EXPECT_THAT(names,
              ElementsAre("1_Pooling/config.json", "config.json",
                          "config_sentence_transformers.json", "model.safetensors", "modules.json",
                          "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json"));
}

TEST(ModelDirectory, AFolderWithoutAModelNamesTheModelsBelowIt) {
  const TempDir folder;
  const auto open = [&] { open_model_directory(folder.path()); };
  ErrorDetail error = refused(open);
  EXPECT_EQ(error.code.name(), "model.missing");
  EXPECT_EQ(error.exit_code, ExitCode::kNoInput);
  EXPECT_EQ(error.what, "the folder holds no model");
  EXPECT_EQ(error.found, "an empty folder");
  folder.write("notes.csv", "id,text\n");
  EXPECT_EQ(refused(open).found, "no config.json");
  folder.write("org/small/config.json", "{}");
  folder.write("big/modules.json", "[]");
  folder.write("texts/a.csv", "text\n");
  error = refused(open);
  EXPECT_EQ(error.found, "no config.json, but 2 models below it: " + folder.file("big") + ", " +
                             folder.file("org/small"));
  EXPECT_THAT(error.hint, HasSubstr("--model " + folder.file("big")));
  // With weights it is a copy of a model that lacks a file.
  folder.write("model.safetensors", "");
  EXPECT_EQ(refused(open).what, "a file of the model is missing");
}

TEST(ModelDirectory, HiddenSizeUnderItsOtherNames) {
  for (const char* name : {"hidden_size", "d_model", "dim", "n_embd"}) {
    const TinyModel model;
    model.write("config.json", config(R"("model_type": "x", ")" + std::string(name) + "\": 4"));
    EXPECT_EQ(model.open().hidden_size, 4) << name;
  }
}

// --- max_seq_length
// The tiny model states three limits: max_seq_length 16 in sentence_bert_config.json,
// model_max_length 24, and 32 positions.

TEST(MaxSeqLength, SentenceBertConfigGoesFirst) {
  EXPECT_EQ(TinyModel().open().max_seq_length, 16);
}

TEST(MaxSeqLength, SentenceBertConfigGoesBeforeASmallerModelMaxLength) {
  const TinyModel model;
  model.write("tokenizer_config.json", R"({"model_max_length": 8})");
  EXPECT_EQ(model.open().max_seq_length, 16);
}

TEST(MaxSeqLength, ThenTheSmallerOfModelMaxLengthAndPositions) {
  const TinyModel model;
  model.write("sentence_bert_config.json", R"({"transformer_task": "feature-extraction"})");
  EXPECT_EQ(model.open().max_seq_length, 24);
  model.write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(model.open().max_seq_length, 32);
  model.remove("tokenizer_config.json");
  EXPECT_EQ(model.open().max_seq_length, 32);
}

TEST(MaxSeqLength, FirstReleasesNamedTheFileAfterTheArchitecture) {
  const TinyModel model;
  model.remove("sentence_bert_config.json");
  model.write("sentence_roberta_config.json", R"({"max_seq_length": 12})");
  EXPECT_EQ(model.open().max_seq_length, 12);
}

TEST(MaxSeqLength, NeverAboveLearnedPositionsAndSaysSo) {
  const TinyModel model;
  model.write("sentence_bert_config.json", R"({"max_seq_length": 64})");
  const ModelDirectory directory = model.open();
  EXPECT_EQ(directory.max_seq_length, 32);
  ASSERT_EQ(directory.warnings.size(), 1u);
  EXPECT_THAT(directory.warnings[0], HasSubstr("maximum of 64 tokens, but has positions for 32"));
}

TEST(MaxSeqLength, RobertaLosesThePositionsUpToItsPadding) {
  const TinyModel model;
  model.remove("sentence_bert_config.json");
  model.remove("tokenizer_config.json");
  for (const char* type : {"roberta", "xlm-roberta", "camembert", "mpnet"}) {
    model.write(
        "config.json",
        config(
            R"("hidden_size": 4, "pad_token_id": 1, "max_position_embeddings": 514, "model_type": ")" +
            std::string(type) + "\""));
    EXPECT_EQ(model.open().max_seq_length, 512) << type;
    EXPECT_EQ(model.open().position_limit, 512) << type;
  }
}

TEST(MaxSeqLength, RotaryModelsMayStateMoreThanTheyWereTrainedFor) {
  const TinyModel model;
  model.write("config.json",
              config(R"("hidden_size": 4, "max_position_embeddings": 32, "model_type": "qwen2")"));
  model.write("sentence_bert_config.json", R"({"max_seq_length": 64})");
  EXPECT_EQ(model.open().max_seq_length, 64);
  EXPECT_EQ(model.open().position_limit, 0);
}

// The worker gets the effective limit as its max_length, so a user must be allowed to give the same
// value.
TEST(MaxSeqLength, NothingStatedIsTheDefaultWithAWarning) {
  const TinyModel model;
  model.remove("sentence_bert_config.json");
  model.remove("tokenizer_config.json");
  model.write("config.json", config(R"("d_model": 4, "model_type": "t5")"));
  const ModelDirectory directory = model.open();
  EXPECT_EQ(directory.max_seq_length, std::nullopt);
  const EffectiveResult result = effective_result(directory, {});
  EXPECT_EQ(result.max_length, 32768);
  EXPECT_THAT(length_warnings(directory, {}),
              ElementsAre(AllOf(HasSubstr("32,768 tokens"), HasSubstr("--max-length N"))));
  ResultOptions options;
  options.max_length = result.max_length;
  EXPECT_EQ(effective_result(directory, options).max_length, 32768);
  EXPECT_THAT(length_warnings(directory, options), IsEmpty());
}

// --- sentence_bert_config.json

TEST(SentenceBertConfig, AsSentenceTransformers6WritesIt) {
  const TinyModel model;
  model.write(
      "sentence_bert_config.json",
      R"({"transformer_task": "feature-extraction", "modality_config": {"text": {"method": "forward",
                  "method_output_name": "last_hidden_state"}}, "module_output_name": "token_embeddings"})");
  EXPECT_EQ(model.open().max_seq_length, 24);
}

TEST(SentenceBertConfig, WhatWouldChangeTheResultIsRefusedByName) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"transformer_task", "\"text-generation\""},
           {"module_output_name", "\"sentence_embedding\""},
           {"query_length", "32"},
           {"processing_kwargs", R"({"text": {"max_length": 7}})"},
           {"modality_config", R"({"image": {}})"},
           {"config_kwargs", R"({"is_causal": false})"},
           {"a_key_of_version_9", "1"}}) {
    const TinyModel model;
    model.write("sentence_bert_config.json", "{\"" + key + "\": " + value + "}");
    testing::expect_refused([&model] { model.open(); }, {"model.unsupported", key, "", ""});
  }
}

TEST(SentenceBertConfig, ArgumentsThatCannotChangeTheResultAreAccepted) {
  const TinyModel model;
  model.write("sentence_bert_config.json",
              R"({"model_args": {"attn_implementation": "sdpa", "torch_dtype": "bfloat16"}})");
  EXPECT_NO_THROW(model.open());
}

TEST(SentenceBertConfig, LowerCaseIsARuleOfTheTokenizer) {
  const TinyModel model;
  EXPECT_FALSE(effective_result(model.open(), {}).tokenizer.lower_case_first);
  model.write("sentence_bert_config.json", R"({"do_lower_case": true, "max_seq_length": 7})");
  const EffectiveResult result = effective_result(model.open(), {});
  EXPECT_TRUE(result.tokenizer.lower_case_first);
  EXPECT_EQ(result.max_length, 7);
}

// --- Plain Hugging Face directories

class PlainDirectory : public ::testing::Test {
 protected:
  PlainDirectory() { model_.remove("modules.json"); }
  std::vector<PoolingMode> pooling(const std::string& fields) const {
    model_.write("config.json", config(R"("hidden_size": 4, "model_type": "qwen2", )" + fields));
    return model_.open().modules.front().pooling;
  }
  TinyModel model_;
};

TEST_F(PlainDirectory, IsMeanPooledAndNotNormalizedWithAWarning) {
  const ModelDirectory directory = model_.open();
  ASSERT_EQ(directory.modules.size(), 1u);
  EXPECT_THAT(directory.modules[0].pooling, ElementsAre(PoolingMode::kMean));
  EXPECT_FALSE(effective_result(directory, {}).normalize);
  EXPECT_THAT(directory.warnings[0],
              HasSubstr("no modules.json: encode assumes 'mean' pooling without normalization"));
}

TEST_F(PlainDirectory, IsLastTokenPooledWhereSavedAsACausalLanguageModel) {
  EXPECT_THAT(pooling(R"("architectures": ["Qwen2ForCausalLM"])"),
              ElementsAre(PoolingMode::kLastToken));
  EXPECT_THAT(pooling(R"("architectures": ["Qwen2ForCausalLM"], "is_causal": false)"),
              ElementsAre(PoolingMode::kMean));
  EXPECT_THAT(pooling(R"("architectures": ["Qwen2Model"])"), ElementsAre(PoolingMode::kMean));
}

TEST_F(PlainDirectory, SettingsAndPromptsOfSentenceTransformersAreNotUsed) {
  const ModelDirectory directory = model_.open();
  EXPECT_EQ(directory.max_seq_length, 24);  // not the 16 of sentence_bert_config.json
  EXPECT_THAT(directory.prompts, IsEmpty());
  EXPECT_THAT(directory.warnings,
              ::testing::Contains(HasSubstr("config_sentence_transformers.json is not used")));
}

}  // namespace
}  // namespace encode
