// Tests directories of MultiVectorEncoder, in the files of sentence-transformers 6.0.1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/safetensors_writer.h"
#include "tiny_model.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using testing::Expected;
using ::testing::IsEmpty;
using testing::safetensors_bytes;
using testing::TinyModel;
using testing::zeros_tensor;
using Kind = SentenceModule::Kind;

constexpr const char* kTransformer =
    R"({"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"})";
constexpr const char* kDense =
    R"({"path": "1_Dense", "type": "sentence_transformers.base.modules.dense.Dense"})";
constexpr const char* kMask =
    R"({"path": "2_Mask", "type": )"
    R"("sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"})";
constexpr const char* kNormalize =
    R"({"path": "3_Normalize", "type": "sentence_transformers.base.modules.normalize.Normalize"})";

class MultiVectorDirectory : public ::testing::Test {
 protected:
  MultiVectorDirectory() {
    model_.write_modules({kTransformer, kDense, kMask, kNormalize});
    model_.write("1_Dense/config.json",
                 R"({"in_features": 4, "out_features": 2, "bias": false, "activation_function": )"
                 R"("torch.nn.modules.linear.Identity", "module_input_name": "token_embeddings"})");
    model_.write("1_Dense/model.safetensors",
                 safetensors_bytes({zeros_tensor("linear.weight", {2, 4})}));
    mask(R"("skiplist_words": ["!", "."], "skiplist_tasks": ["document"])");
    model_.write("3_Normalize/config.json", R"({"module_input_name": "token_embeddings"})");
    model_.write("sentence_bert_config.json",
                 R"({"max_seq_length": 20, "document_length": 12, "query_length": 8, )"
                 R"("query_expansion": {"strategy": "fixed", "length": 8}})");
    settings(R"("prompts": {"query": "q: ", "document": "d: "})");
  }
  void mask(const std::string& fields) const {
    model_.write("2_Mask/config.json", "{" + fields + "}");
  }
  void settings(const std::string& fields, const std::string& type = "MultiVectorEncoder") const {
    model_.write(
        "config_sentence_transformers.json",
        R"({"model_type": ")" + type + R"(", "similarity_fn_name": null, )" + fields + "}");
  }
  void expect_open_refused(const Expected& expected) const {
    testing::expect_open_refused(model_, expected);
  }

  TinyModel model_;
};

TEST_F(MultiVectorDirectory, HasItsModulesAndSettings) {
  const ModelDirectory directory = model_.open();
  ASSERT_EQ(directory.modules.size(), 3U);
  EXPECT_EQ(directory.modules[1].kind, Kind::kDense);
  EXPECT_EQ(directory.modules[2].kind, Kind::kNormalize);
  ASSERT_TRUE(directory.late_interaction);
  EXPECT_EQ(directory.late_interaction->marker, "");
  EXPECT_THAT(directory.late_interaction->skip_words, ElementsAre("!", "."));
  EXPECT_TRUE(directory.late_interaction->drops_unknown_words);
  EXPECT_EQ(directory.max_seq_length, 12) << "document_length, not max_seq_length";
  EXPECT_THAT(directory.warnings, IsEmpty());
  const EffectiveResult result = effective_result(directory, {});
  EXPECT_TRUE(result.token_embeddings());
  EXPECT_EQ(result.prompt, "d: ");
}

TEST_F(MultiVectorDirectory, ThePromptIsTheOneOfEncodeDocument) {
  settings(R"("prompts": {"corpus": "c", "passage": "p"}, "default_prompt_name": "corpus")");
  EXPECT_EQ(effective_result(model_.open(), {}).prompt, "p");
  settings(R"("prompts": {"other": "o"}, "default_prompt_name": "other")");
  EXPECT_EQ(effective_result(model_.open(), {}).prompt, "o");
  settings(R"("prompts": {})");
  EXPECT_EQ(effective_result(model_.open(), {}).prompt, "");
}

TEST_F(MultiVectorDirectory, ASkipListCountsIfItsTasksHaveDocument) {
  mask(R"("skiplist_words": ["!"], "skiplist_tasks": "query")");
  EXPECT_THAT(model_.open().late_interaction->skip_words, IsEmpty());
  mask(R"("skiplist_words": ["!"], "skiplist_tasks": ["query", "document"])");
  EXPECT_THAT(model_.open().late_interaction->skip_words, ElementsAre("!"));
  mask(R"("skiplist_words": ["!"])");
  EXPECT_THAT(model_.open().late_interaction->skip_words, ElementsAre("!"));
  mask("");
  EXPECT_THAT(model_.open().late_interaction->skip_words, IsEmpty());
}

TEST_F(MultiVectorDirectory, AMaskOfOtherKindsIsRefused) {
  mask(R"("keep_only_token_ids": [7])");
  expect_open_refused({"model.modules", "'keep_only_token_ids'", "null", "[7]"});
  mask(R"("skiplist_words": [7])");
  expect_open_refused({"model.modules", "'skiplist_words'", "strings", "7"});
}

TEST_F(MultiVectorDirectory, WithoutANormalizeVectorsStayAsTheyAre) {
  model_.write_modules({kTransformer, kDense, kMask});
  EXPECT_FALSE(effective_result(model_.open(), {}).normalize);
  model_.write_modules({kTransformer, kMask, kNormalize, kDense});
  expect_open_refused({"model.modules", "not a Dense", "", "'3_Normalize'"});
  model_.write_modules({kTransformer, kDense, kNormalize, kMask});
  EXPECT_TRUE(effective_result(model_.open(), {}).normalize);
  model_.write("3_Normalize/config.json", "{}");
  expect_open_refused({"model.modules", "'module_input_name'", "token_embeddings", "sentence"});
}

TEST_F(MultiVectorDirectory, WhatDoesNotFitTogetherIsRefused) {
  settings(R"("prompts": {})", "SentenceTransformer");
  expect_open_refused({"model.unsupported", "do not fit", "MultiVectorEncoder", "Sentence"});
  settings(R"("prompts": {}, "document_prefix": "[D] ")");
  expect_open_refused({"model.prompts", "'document_prefix'", "absent", ""});
  settings(R"("prompts": {})");
  model_.write_modules({kTransformer, kDense, kNormalize});
  expect_open_refused({"model.unsupported", "do not fit", "MultiVectorMask", "MultiVectorEncoder"});
  model_.write_modules({kTransformer, kDense, kMask, kMask});
  expect_open_refused({"model.modules", "not a Dense", "", "'2_Mask'"});
}

}  // namespace
}  // namespace encode
