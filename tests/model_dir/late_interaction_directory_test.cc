// Tests directories of late-interaction models, in the files of PyLate 1.6.0.
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
using ::testing::SizeIs;
using testing::TinyModel;
using testing::zeros_tensor;
using Kind = SentenceModule::Kind;

constexpr const char* kTransformer =
    R"({"path": "", "type": "sentence_transformers.models.Transformer"})";
constexpr const char* kTokenDense = R"({"path": "1_Dense", "type": "pylate.models.Dense.Dense"})";

class LateInteractionDirectory : public ::testing::Test {
 protected:
  LateInteractionDirectory() {
    model_.write_modules({kTransformer, kTokenDense});
    dense(R"("bias": false, "activation_function": "torch.nn.modules.linear.Identity")");
    model_.write("1_Dense/model.safetensors",
                 safetensors_bytes({zeros_tensor("linear.weight", {2, 4})}));
    model_.write("tokenizer_config.json", R"({"unk_token": "[UNK]"})");
    settings(R"("document_prefix": "[D] ", "document_length": 12, "skiplist_words": ["!", "."])");
  }
  void dense(const std::string& fields) const {
    model_.write("1_Dense/config.json", R"({"in_features": 4, "out_features": 2, )" + fields + "}");
  }
  void settings(const std::string& fields) const {
    model_.write("config_sentence_transformers.json",
                 R"({"model_type": "ColBERT", "similarity_fn_name": "MaxSim", )"
                 R"("prompts": {"query": "", "document": ""}, )" +
                     fields + "}");
  }
  void expect_open_refused(const Expected& expected) const {
    testing::expect_open_refused(model_, expected);
  }
  void expect_result_refused(const ResultOptions& options, const Expected& expected) const {
    testing::expect_refused([&] { effective_result(model_.open(), options); }, expected);
  }

  TinyModel model_;
};

// lightonai/colbertv2.0 has this type, which is the same class.
TEST_F(LateInteractionDirectory, NamesItsDenseByThePackageToo) {
  model_.write_modules({kTransformer, R"({"path": "1_Dense", "type": "pylate.models.Dense"})"});
  EXPECT_TRUE(model_.open().late_interaction.has_value());
}

TEST_F(LateInteractionDirectory, OfStanfordIsRefusedWithoutModules) {
  std::string config(testing::kTinyConfig);
  config.replace(config.find("BertModel"), 9, "HF_ColBERT");
  model_.write("config.json", config);
  EXPECT_TRUE(model_.open().late_interaction.has_value()) << "modules.json decides";
  model_.remove("modules.json");
  expect_open_refused({.code = "model.unsupported",
                       .what = "Stanford's ColBERT",
                       .expected = "modules.json",
                       .found = "HF_ColBERT"});
}

TEST_F(LateInteractionDirectory, HasItsModulesAndSettings) {
  const ModelDirectory directory = model_.open();
  ASSERT_THAT(directory.modules, SizeIs(3));
  EXPECT_THAT(directory.modules[0].pooling, ElementsAre(PoolingMode::kNone));
  EXPECT_EQ(directory.modules[1].kind, Kind::kDense);
  EXPECT_EQ(directory.modules[1].activation, DenseActivation::kIdentity);
  EXPECT_EQ(directory.modules[2].kind, Kind::kNormalize);
  EXPECT_EQ(directory.late_interaction, (LateInteraction{"[D] ", {"!", "."}, "[UNK]"}));
  EXPECT_EQ(directory.max_seq_length, 12) << "not max_seq_length of sentence_bert_config.json";
  EXPECT_THAT(directory.warnings, IsEmpty());
  const EffectiveResult result = effective_result(directory, {});
  EXPECT_TRUE(result.token_embeddings());
  EXPECT_TRUE(result.normalize);
  EXPECT_EQ(result.dim, 2);
  EXPECT_EQ(result.max_length, 12);
  EXPECT_EQ(result.late_interaction, directory.late_interaction);
  ResultOptions none;
  none.pooling = PoolingMode::kNone;
  EXPECT_EQ(effective_result(directory, none), result);
}

TEST_F(LateInteractionDirectory, AnotherDirectoryHasNoSuchSettings) {
  const TinyModel pooled;
  EXPECT_FALSE(pooled.open().late_interaction);
}

TEST_F(LateInteractionDirectory, TheDefaultsAreThoseOfPyLate) {
  model_.remove("config_sentence_transformers.json");
  model_.remove("tokenizer_config.json");
  const ModelDirectory directory = model_.open();
  EXPECT_EQ(directory.late_interaction->marker, "[D] ");
  EXPECT_THAT(directory.late_interaction->skip_words, SizeIs(32));
  EXPECT_EQ(directory.late_interaction->unknown_token, "");
  EXPECT_EQ(directory.max_seq_length, 32) << "180, but the model has positions for 32";
  EXPECT_THAT(directory.warnings, SizeIs(1));
  settings(R"("document_prefix": "", "skiplist_words": [], "document_length": null)");
  EXPECT_EQ(model_.open().late_interaction, LateInteraction());
}

TEST_F(LateInteractionDirectory, UnkTokenCanBeAnObject) {
  model_.write("tokenizer_config.json", R"({"unk_token": {"content": "<unk>", "lstrip": false}})");
  EXPECT_EQ(model_.open().late_interaction->unknown_token, "<unk>");
  model_.write("tokenizer_config.json", R"({"unk_token": 3})");
  expect_open_refused({"model.tokenizer_config", "'unk_token'", "a string", "3"});
}

TEST_F(LateInteractionDirectory, BadSettingsAreRefused) {
  settings(R"("skiplist_words": ".")");
  expect_open_refused({"model.prompts", "'skiplist_words'", "a list", "\".\""});
  settings(R"("skiplist_words": [".", 3])");
  expect_open_refused({"model.prompts", "'skiplist_words'", "strings", "3"});
  settings(R"("document_length": 1)");
  expect_open_refused({"model.prompts", "'document_length'", "2", "1"});
  settings(R"("document_prefix": 7)");
  expect_open_refused({"model.prompts", "'document_prefix'", "", ""});
}

TEST_F(LateInteractionDirectory, TheDenseModulesArePyLates) {
  dense(R"("bias": false)");
  EXPECT_EQ(model_.open().modules[1].activation, DenseActivation::kIdentity);
  dense(R"("bias": false, "activation_function": "torch.nn.modules.activation.Tanh")");
  EXPECT_EQ(model_.open().modules[1].activation, DenseActivation::kTanh);
  dense(R"("bias": false, "activation_function": "my_module.Swish")");
  expect_open_refused({"model.dense", "'activation_function'", "Identity", "'my_module.Swish'"});
  dense(R"("bias": false, "module_input_name": "sentence_embedding")");
  expect_open_refused(
      {"model.unsupported", "token embeddings", "token_embeddings", "'sentence_embedding'"});
  dense(R"("bias": true)");
  expect_open_refused({"model.dense", "do not fit", "linear.bias [2]", "linear.weight [2,4]"});
  model_.write("1_Dense/config.json", R"({"in_features": 8, "out_features": 2, "bias": false})");
  expect_open_refused({"model.dense", "do not fit", "[2,8]", "[2,4]"});
  model_.write("1_Dense/model.safetensors",
               safetensors_bytes({zeros_tensor("linear.weight", {2, 8})}));
  expect_open_refused({"model.dim", "'1_Dense'", "in_features 4", "8"});
  model_.remove("1_Dense/model.safetensors");
  expect_open_refused({"model.missing", "", "", "", ExitCode::kNoInput});
}

TEST_F(LateInteractionDirectory, OtherModulesAreRefused) {
  model_.write_modules({kTransformer, kTokenDense,
                        R"({"path": "", "type": "sentence_transformers.models.Dropout"})",
                        R"({"path": "2", "type": "sentence_transformers.models.Normalize"})"});
  EXPECT_THAT(model_.open().modules, SizeIs(3)) << "they change nothing";
  const std::string pooling =
      R"({"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
  model_.write_modules({kTransformer, kTokenDense, pooling});
  expect_open_refused({"model.modules", "not a Dense", "a late-interaction model", "'1_Pooling'"});
  model_.write_modules({kTransformer, pooling, kTokenDense});
  expect_open_refused({"model.modules", "does not follow the Transformer", "", "'1_Dense'"});
}

TEST_F(LateInteractionDirectory, PooledVectorsAndQueriesAreRefused) {
  ResultOptions options;
  options.pooling = PoolingMode::kMean;
  expect_result_refused(options, {"model.pooling", "no pooled vectors", "none", "mean"});
  options = {};
  options.prompt_name = "document";
  EXPECT_EQ(effective_result(model_.open(), options).prompt, "");
  options.prompt_name = "query";
  expect_result_refused(options, {"model.unsupported", "queries", "documents", "'query'"});
  settings(R"("default_prompt_name": "query")");
  expect_result_refused({}, {"model.unsupported", "queries", "documents", "default_prompt_name"});
  options = {};
  options.prompt = "";
  EXPECT_EQ(effective_result(model_.open(), options).prompt, "") << "the hint of the error";
}

TEST_F(LateInteractionDirectory, MaxLengthHasRoomForTheMarker) {
  ResultOptions options;
  options.max_length = 2;
  EXPECT_EQ(effective_result(model_.open(), options).max_length, 2);
  options.max_length = 1;
  expect_result_refused(options, {"model.max_length", "", "2 to 32", "1"});
  settings(R"("document_prefix": "")");
  EXPECT_EQ(effective_result(model_.open(), options).max_length, 1);
}

// With "normalize: false" the vectors are not scaled. truncate_dim cuts the columns of the scaled
// vectors.
TEST_F(LateInteractionDirectory, VectorsCanBeCutOrLeftAsTheyAre) {
  ResultOptions options;
  options.normalize = false;
  EXPECT_EQ(effective_result(model_.open(), options).modules.back().kind, Kind::kDense);
  options = {};
  options.truncate_dim = 1;
  const EffectiveResult cut = effective_result(model_.open(), options);
  EXPECT_EQ(cut.dim, 1);
  EXPECT_TRUE(cut.is_cut());
}

}  // namespace
}  // namespace encode
