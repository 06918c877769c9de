// Tests modules.json and module folders in the two generations of formats that
// sentence-transformers 2 to 6 wrote. The texts of the second generation are from
// sentence-transformers 6.0.1.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/safetensors_writer.h"
#include "tiny_model.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using testing::expect_open_refused;
using testing::Expected;
using testing::safetensors_bytes;
using testing::TinyModel;
using testing::zeros_tensor;
using Kind = SentenceModule::Kind;

std::string modules_json(const std::vector<std::pair<std::string, std::string>>& types_and_paths) {
  std::string text = "[";
  for (const auto& [type, path] : types_and_paths) {
    text += (text.size() > 1 ? "," : "") + std::string(R"({"type": ")") + type + R"(", "path": ")" +
            path + "\"}";
  }
  return text + "]";
}

const std::string kTransformer = "sentence_transformers.models.Transformer";
const std::string kPooling = "sentence_transformers.models.Pooling";
const std::string kDense = "sentence_transformers.models.Dense";
const std::string kNormalize = "sentence_transformers.models.Normalize";
const std::string kLayerNorm = "sentence_transformers.models.LayerNorm";
const std::string kStaticModule = "sentence_transformers.models.StaticEmbedding";

std::vector<PoolingMode> pooling_of(const std::string& config) {
  const TinyModel model;
  model.write("1_Pooling/config.json", config);
  return model.open().modules.front().pooling;
}

// --- Pooling

TEST(Pooling, FirstGenerationIsConcatenatedInAFixedOrder) {
  EXPECT_THAT(pooling_of(R"({"word_embedding_dimension": 4, "pooling_mode_cls_token": true})"),
              ElementsAre(PoolingMode::kCls));
  EXPECT_THAT(
      pooling_of(R"({"word_embedding_dimension": 4, "pooling_mode_lasttoken": true,
      "pooling_mode_weightedmean_tokens": true, "pooling_mode_mean_sqrt_len_tokens": true,
      "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true, "pooling_mode_cls_token": true})"),
      ElementsAre(PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kMean,
                  PoolingMode::kMeanSqrtLen, PoolingMode::kWeightedMean, PoolingMode::kLastToken));
}

TEST(Pooling, FirstGenerationWithoutAnyModeIsMean) {
  EXPECT_THAT(pooling_of(R"({"word_embedding_dimension": 4, "pooling_mode_cls_token": false})"),
              ElementsAre(PoolingMode::kMean));
}

TEST(Pooling, SecondGenerationIsAStringOrAListInItsOwnOrder) {
  EXPECT_THAT(
      pooling_of(
          R"({"embedding_dimension": 4, "pooling_mode": "lasttoken", "include_prompt": true})"),
      ElementsAre(PoolingMode::kLastToken));
  EXPECT_THAT(
      pooling_of(
          R"({"embedding_dimension": 4, "pooling_mode": ["mean", "cls"], "include_prompt": true})"),
      ElementsAre(PoolingMode::kMean, PoolingMode::kCls));
}

TEST(Pooling, SecondGenerationGoesBeforeTheFirst) {
  EXPECT_THAT(
      pooling_of(
          R"({"embedding_dimension": 4, "pooling_mode": "max", "pooling_mode_cls_token": true})"),
      ElementsAre(PoolingMode::kMax));
}

TEST(Pooling, IncludePromptIsRead) {
  const TinyModel model;
  EXPECT_TRUE(model.open().modules.front().include_prompt);
  model.write("1_Pooling/config.json",
              R"({"embedding_dimension": 4, "pooling_mode": "mean", "include_prompt": false})");
  EXPECT_FALSE(model.open().modules.front().include_prompt);
  EXPECT_FALSE(effective_result(model.open(), {}).include_prompt);
}

TEST(Pooling, UnknownModeListsTheValidOnes) {
  const TinyModel model;
  model.write("1_Pooling/config.json", R"({"embedding_dimension": 4, "pooling_mode": "median"})");
  expect_open_refused(model, {"config.value", "unknown pooling mode", "weightedmean", "'median'"});
}

TEST(Pooling, AnUnknownSwitchThatIsOnIsRefusedByName) {
  const TinyModel model;
  const auto write = [&model](const std::string& field) {
    model.write("1_Pooling/config.json",
                R"({"embedding_dimension": 4, "pooling_mode": "mean", )" + field + "}");
  };
  for (const char* harmless : {R"("pooling_mode_new": false)", R"("pooling_mode_new": null)"}) {
    write(harmless);
    EXPECT_NO_THROW(model.open()) << harmless;
  }
  write(R"("pooling_mode_new": true)");
  expect_open_refused(model, {"model.pooling", "unsupported value for 'pooling_mode_new'",
                              "false, or a key of sentence-transformers 6", "true"});
  write(R"("a\u001b[31mb": true)");
  expect_open_refused(model, {"model.pooling", R"('a\x1b[31mb')", "false", "true"});
}

TEST(Pooling, WidthMustBeTheTransformers) {
  const TinyModel model;
  model.write("1_Pooling/config.json", R"({"embedding_dimension": 8, "pooling_mode": "mean"})");
  expect_open_refused(model, {"model.dim", "'1_Pooling'", "embedding_dimension 4", "8"});
}

// --- modules.json

TEST(Modules, EveryGenerationOfTypeNamesIsRead) {
  for (const auto& [transformer, pooling, normalize] : std::vector<std::array<std::string, 3>>{
           {kTransformer, kPooling, kNormalize},
           {"sentence_transformers.base.modules.transformer.Transformer",
            "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
            "sentence_transformers.base.modules.normalize.Normalize"},
           {"sentence_transformers.sentence_transformer.modules.Transformer",
            "sentence_transformers.sentence_transformer.modules.Pooling",
            "sentence_transformers.sentence_transformer.modules.normalize.Normalize"}}) {
    const TinyModel model;
    model.write(
        "modules.json",
        modules_json({{transformer, ""}, {pooling, "1_Pooling"}, {normalize, "2_Normalize"}}));
    const ModelDirectory directory = model.open();
    ASSERT_EQ(directory.modules.size(), 2u) << pooling;
    EXPECT_EQ(directory.modules[0].kind, Kind::kPooling);
    EXPECT_EQ(directory.modules[1].kind, Kind::kNormalize);
  }
}

TEST(Modules, UnknownTypesAreRefusedByName) {
  for (const std::string type : {"sentence_transformers.models.WordWeights",
                                 "sentence_transformers.sparse_encoder.modules.SpladePooling",
                                 "sentence_transformers.models.PoolingX", "Pooling"}) {
    const TinyModel model;
    model.write("modules.json", modules_json({{kTransformer, ""}, {type, "1_Pooling"}}));
    expect_open_refused(model, {"model.modules", "module type '" + type + "' is not supported",
                                "Dense, LayerNorm, Normalize", type});
  }
}

TEST(Modules, OrderIsChecked) {
  const TinyModel model;
  model.write("modules.json",
              modules_json({{kTransformer, ""}, {kNormalize, "2"}, {kPooling, "1_Pooling"}}));
  expect_open_refused(
      model, {"model.modules", "Pooling right after", "then one Pooling", "before the Pooling"});
  model.write("modules.json",
              modules_json({{kTransformer, ""}, {kPooling, "1_Pooling"}, {kPooling, "1_Pooling"}}));
  expect_open_refused(model,
                      {"model.modules", "Pooling right after", "then one Pooling", "2 of them"});
  model.write("modules.json", modules_json({{kTransformer, ""}}));
  expect_open_refused(model,
                      {"model.modules", "Pooling right after", "then one Pooling", "0 of them"});
  model.write("modules.json", modules_json({{kPooling, "1_Pooling"}}));
  expect_open_refused(model, {"model.modules", "no Transformer", "a Transformer", "none"});
  model.write("modules.json", modules_json({{kPooling, "1_Pooling"}, {kTransformer, ""}}));
  expect_open_refused(model, {"model.modules", "not the first module", "a Transformer", ""});
  model.write("modules.json", "[]");
  expect_open_refused(model, {"model.modules", "not a list", "", "[]"});
}

TEST(Modules, TransformerInItsOwnFolder) {
  const TinyModel model;
  for (const char* name : {"config.json", "model.safetensors", "sentence_bert_config.json",
                           "tokenizer.json", "tokenizer_config.json"}) {
    model.write("0_Transformer/" + std::string(name), testing::read_bytes(model.file(name)));
    model.remove(name);
  }
  model.write("modules.json",
              modules_json({{kTransformer, "0_Transformer"}, {kPooling, "1_Pooling"}}));
  const ModelDirectory directory = model.open();
  EXPECT_EQ(directory.transformer_path, directory.path + "/0_Transformer");
  EXPECT_EQ(directory.max_seq_length, 16);
  EXPECT_EQ(directory.files.front().name, "0_Transformer/config.json");
  std::vector<std::string> hashed;
  for (const FileHash& file : hash_model_files(directory, "")) hashed.push_back(file.name);
  EXPECT_THAT(hashed, ::testing::Contains("0_Transformer/tokenizer.json"));
}

// --- Dense

class DenseModule : public ::testing::Test {
 protected:
  DenseModule() {
    model_.write("modules.json", modules_json({{kTransformer, ""},
                                               {kPooling, "1_Pooling"},
                                               {kDense, "2_Dense"},
                                               {kNormalize, "3_Normalize"}}));
    config("torch.nn.modules.linear.Identity", "");
    weights({zeros_tensor("linear.weight", {2, 4}), zeros_tensor("linear.bias", {2})});
  }
  void config(const std::string& activation, const std::string& more) const {
    model_.write("2_Dense/config.json",
                 R"({"in_features": 4, "out_features": 2, "bias": true, "activation_function": ")" +
                     activation + "\"" + more + "}");
  }
  void weights(const std::vector<testing::TestTensor>& tensors) const {
    model_.write("2_Dense/model.safetensors", safetensors_bytes(tensors));
  }
  TinyModel model_;
};

TEST_F(DenseModule, GivesItsWidthAndWeights) {
  const ModelDirectory directory = model_.open();
  ASSERT_EQ(directory.modules.size(), 3u);
  const SentenceModule& dense = directory.modules[1];
  EXPECT_EQ(dense.kind, Kind::kDense);
  EXPECT_EQ(dense.activation, DenseActivation::kIdentity);
  EXPECT_EQ(dense.tensors.at("linear.weight").shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(effective_result(directory, {}).dim, 2);
}

TEST_F(DenseModule, ActivationsByTheirPythonNames) {
  config("torch.nn.modules.activation.Tanh", "");
  EXPECT_EQ(model_.open().modules[1].activation, DenseActivation::kTanh);
  config("torch.nn.modules.activation.ReLU", "");
  EXPECT_EQ(model_.open().modules[1].activation, DenseActivation::kRelu);
  config("torch.nn.GELU", "");
  EXPECT_EQ(model_.open().modules[1].activation, DenseActivation::kGelu);
  config("my_module.Swish", "");
  expect_open_refused(model_,
                      {"model.dense", "'activation_function'", "Tanh", "'my_module.Swish'"});
}

TEST_F(DenseModule, WeightsMustFitTheConfig) {
  weights({zeros_tensor("linear.weight", {4, 2}), zeros_tensor("linear.bias", {2})});
  expect_open_refused(model_,
                      {"model.dense", "do not fit", "linear.weight [2,4]", "linear.weight [4,2]"});
  weights({zeros_tensor("linear.weight", {2, 4})});
  expect_open_refused(model_,
                      {"model.dense", "do not fit", "linear.bias [2]", "linear.weight [2,4]"});
  weights({zeros_tensor("linear.weight", {2, 4}), zeros_tensor("linear.bias", {2}),
           zeros_tensor("extra", {1})});
  expect_open_refused(model_, {"model.dense", "do not fit", "linear.bias [2]", "extra [1]"});
  weights(
      {zeros_tensor("linear.weight", {2, 4}), {"linear.bias", "I64", {2}, std::string(16, '\0')}});
  expect_open_refused(model_, {"model.dense", "not floating point", "F32, F16, BF16 or F64", ""});
}

TEST_F(DenseModule, WidthMustFitThePoolingAlsoAfterAnOverride) {
  model_.write("1_Pooling/config.json",
               R"({"embedding_dimension": 4, "pooling_mode": ["mean", "cls"]})");
  expect_open_refused(model_, {"model.dim", "'2_Dense'", "in_features 8", "4"});
}

TEST_F(DenseModule, WhatIsNotImplementedIsRefused) {
  config("torch.nn.modules.linear.Identity", R"(, "module_input_name": "token_embeddings")");
  expect_open_refused(
      model_, {"model.unsupported", "sentence embedding", "module_input_name", "token_embeddings"});
}

TEST_F(DenseModule, ResidualIsProjectedWhereWidthsDiffer) {
  config("torch.nn.modules.linear.Identity", R"(, "use_residual": true)");
  expect_open_refused(model_, {"model.dense", "do not fit", "residual.weight [2,4]", "linear"});
  weights({zeros_tensor("linear.weight", {2, 4}), zeros_tensor("linear.bias", {2}),
           zeros_tensor("residual.weight", {2, 4})});
  EXPECT_TRUE(model_.open().modules[1].residual);
}

TEST_F(DenseModule, MissingFilesAreNamed) {
  model_.remove("2_Dense/model.safetensors");
  expect_open_refused(model_, {"model.missing", "", "", "", ExitCode::kNoInput});
  model_.remove("2_Dense");
  expect_open_refused(model_, {"model.missing", "", "", "", ExitCode::kNoInput});
}

TEST_F(DenseModule, UnknownKeyIsAWarning) {
  EXPECT_TRUE(model_.open().warnings.empty());
  config("torch.nn.modules.linear.Identity", R"(, "novelty": 1)");
  ASSERT_EQ(model_.open().warnings.size(), 1u);
  EXPECT_NE(model_.open().warnings[0].find("'novelty'"), std::string::npos);
}

TEST_F(DenseModule, PickledWeightsThatAreDamagedAreRefused) {
  model_.remove("2_Dense/model.safetensors");
  model_.write("2_Dense/pytorch_model.bin", "\x80");
  expect_open_refused(model_, {"model.zip", "not one of torch.save()", "a zip archive", R"(\x80)"});
}

// --- LayerNorm, Dropout

TEST(LayerNormModule, IsReadAndChecked) {
  const TinyModel model;
  model.write("modules.json", modules_json({{kTransformer, ""},
                                            {kPooling, "1_Pooling"},
                                            {kLayerNorm, "2_LayerNorm"},
                                            {kNormalize, "3"},
                                            {kLayerNorm, "2_LayerNorm"}}));
  model.write("2_LayerNorm/config.json", R"({"dimension": 4})");
  const auto weights = [&model](int64_t width) {
    model.write("2_LayerNorm/model.safetensors",
                safetensors_bytes(
                    {zeros_tensor("norm.bias", {width}), zeros_tensor("norm.weight", {width})}));
  };
  weights(4);
  const ModelDirectory directory = model.open();
  ASSERT_EQ(directory.modules.size(), 4u);
  EXPECT_EQ(directory.modules[1].kind, Kind::kLayerNorm);
  EXPECT_EQ(directory.modules[3].tensors.at("norm.bias").shape, std::vector<int64_t>{4});
  EXPECT_EQ(effective_result(directory, {}).dim, 4);
  weights(8);
  expect_open_refused(model, {"model.layer_norm", "do not fit", "norm.bias [4]", "norm.bias [8]"});
  model.write("2_LayerNorm/config.json", R"({"dimension": 8})");
  expect_open_refused(model, {"model.dim", "'2_LayerNorm'", "dimension 4", "8"});
  model.write("2_LayerNorm/config.json", R"({"dimension": "4"})");
  expect_open_refused(model, {"model.layer_norm", "'dimension'", "", ""});
}

TEST(DropoutModule, DoesNothing) {
  const TinyModel model;
  model.write("modules.json",
              modules_json({{kTransformer, ""},
                            {kPooling, "1_Pooling"},
                            {"sentence_transformers.models.Dropout", "2_Dropout"}}));
  EXPECT_EQ(model.open().modules.size(), 1u);
}

// --- StaticEmbedding

class StaticModule : public ::testing::Test {
 protected:
  StaticModule() {
    model_.write("modules.json", modules_json({{kStaticModule, "."}, {kNormalize, "1"}}));
    model_.remove("config.json");
    table("embedding.weight", "F32", 4);
  }
  void table(const std::string& name, const std::string& dtype, size_t item_bytes) const {
    model_.write("model.safetensors",
                 safetensors_bytes({{name, dtype, {10, 6}, std::string(60 * item_bytes, '\0')}}));
  }
  TinyModel model_;
};

TEST_F(StaticModule, IsATableAndItsMean) {
  const ModelDirectory directory = model_.open();
  EXPECT_EQ(directory.model_type, kStaticEmbedding);
  EXPECT_EQ(directory.hidden_size, 6);
  EXPECT_EQ(directory.vocab_size, 10);
  EXPECT_FALSE(directory.add_special_tokens);
  EXPECT_THAT(directory.modules.front().pooling, ElementsAre(PoolingMode::kMean));
  EXPECT_EQ(effective_result(directory, {}).dim, 6);
  EXPECT_TRUE(effective_result(directory, {}).normalize);
  table("embeddings", "F16", 2);  // the name that model2vec uses
  EXPECT_EQ(model_.open().hidden_size, 6);
}

TEST_F(StaticModule, TruncatesAsItsTokenizerWasSaved) {
  EXPECT_GT(*model_.open().max_seq_length, 100'000);
  model_.write("tokenizer.json", R"({"truncation": {"max_length": 12, "direction": "Right"}})");
  EXPECT_EQ(model_.open().max_seq_length, 12);
  model_.write("tokenizer.json", R"({"truncation": {"max_length": 13, "direction": "Left"}})");
  EXPECT_EQ(model_.open().max_seq_length, 13);  // the tokenizer keeps the last 13 tokens
}

TEST_F(StaticModule, ATruncationWithoutALengthIsRefused) {
  model_.write("tokenizer.json", R"({"truncation": {"max_length": 0}})");
  expect_open_refused(model_, {"model.tokenizer", "", "", "0"});
}

TEST_F(StaticModule, OtherTensorsAreRefused) {
  for (const auto& [name, dtype, bytes] :
       {std::tuple{"embedding.weight", "I8", size_t{1}}, {"embedding.table", "F32", size_t{4}}}) {
    table(name, dtype, bytes);
    expect_open_refused(model_, {"model.static_embedding", "not those of a StaticEmbedding",
                                 "embedding.weight", name});
  }
  model_.remove("model.safetensors");
  expect_open_refused(model_, {"model.missing", "", "", "", ExitCode::kNoInput});
}

TEST_F(StaticModule, APoolingAfterItIsRefused) {
  model_.write("modules.json", modules_json({{kStaticModule, ""}, {kPooling, "1_Pooling"}}));
  expect_open_refused(model_, {"model.modules", "StaticEmbedding is followed", "", "1 of them"});
}

TEST(Normalize, OfTokenEmbeddingsIsRefused) {
  const TinyModel model;
  model.write("2_Normalize/config.json", R"({"module_input_name": "token_embeddings"})");
  expect_open_refused(
      model, {"model.unsupported", "sentence embedding", "sentence_embedding", "token_embeddings"});
}

}  // namespace
}  // namespace encode
