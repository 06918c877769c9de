// Tests that the options of a user override the settings of the directory.
#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/safetensors_writer.h"
#include "tiny_model.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using testing::TinyModel;
using Kind = SentenceModule::Kind;

// Returns ResultOptions with one field set.
template <typename Field, typename Value>
ResultOptions with(Field ResultOptions::*field, Value value) {
  ResultOptions options;
  options.*field = value;
  return options;
}

std::vector<Kind> kinds(const EffectiveResult& result) {
  std::vector<Kind> kinds;
  for (const SentenceModule& module : result.modules) kinds.push_back(module.kind);
  return kinds;
}

TEST(EffectiveResult, WithoutOptionsIsTheDirectorys) {
  const EffectiveResult result = effective_result(TinyModel().open(), {});
  EXPECT_THAT(result.pooling, ElementsAre(PoolingMode::kMean));
  EXPECT_TRUE(result.normalize);
  EXPECT_EQ(result.max_length, 16);
  EXPECT_EQ(result.prompt, "");
  EXPECT_EQ(result.dim, 4);
  EXPECT_THAT(kinds(result), ElementsAre(Kind::kPooling, Kind::kNormalize));
}

TEST(EffectiveResult, PoolingReplacesAllModes) {
  const TinyModel model;
  model.write("1_Pooling/config.json",
              R"({"embedding_dimension": 4, "pooling_mode": ["mean", "cls"]})");
  EXPECT_EQ(effective_result(model.open(), {}).dim, 8);
  const EffectiveResult result =
      effective_result(model.open(), with(&ResultOptions::pooling, PoolingMode::kMax));
  EXPECT_THAT(result.pooling, ElementsAre(PoolingMode::kMax));
  EXPECT_THAT(result.modules.front().pooling, ElementsAre(PoolingMode::kMax));
  EXPECT_EQ(result.dim, 4);
}

TEST(EffectiveResult, NormalizeIsRemovedOrAddedAtTheEnd) {
  const TinyModel model;
  const EffectiveResult removed =
      effective_result(model.open(), with(&ResultOptions::normalize, false));
  EXPECT_FALSE(removed.normalize);
  EXPECT_THAT(kinds(removed), ElementsAre(Kind::kPooling));
  model.remove("modules.json");
  EXPECT_THAT(kinds(effective_result(model.open(), {})), ElementsAre(Kind::kPooling));
  const EffectiveResult added =
      effective_result(model.open(), with(&ResultOptions::normalize, true));
  EXPECT_TRUE(added.normalize);
  EXPECT_THAT(kinds(added), ElementsAre(Kind::kPooling, Kind::kNormalize));
}

TEST(EffectiveResult, PoolingThatDoesNotFitADenseModuleIsRefused) {
  const TinyModel model;
  model.write("modules.json", R"([{"type": "sentence_transformers.models.Transformer"},
      {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
      {"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])");
  model.write("1_Pooling/config.json",
              R"({"embedding_dimension": 4, "pooling_mode": ["mean", "cls"]})");
  model.write("2_Dense/config.json", R"({"in_features": 8, "out_features": 3, "bias": false})");
  model.write("2_Dense/model.safetensors",
              testing::safetensors_bytes({testing::zeros_tensor("linear.weight", {3, 8})}));
  const ModelDirectory directory = model.open();
  EXPECT_EQ(effective_result(directory, {}).dim, 3);
  testing::expect_refused(
      [&directory] {
        effective_result(directory, with(&ResultOptions::pooling, PoolingMode::kMean));
      },
      {"model.dim", "'2_Dense'", "in_features 4", "8"});
}

TEST(EffectiveResult, MaxLengthUpToTheLearnedPositions) {
  const ModelDirectory directory = TinyModel().open();
  EXPECT_EQ(effective_result(directory, with(&ResultOptions::max_length, 8)).max_length, 8);
  EXPECT_EQ(effective_result(directory, with(&ResultOptions::max_length, 32)).max_length,
            32);  // above the stated 16, but possible
  for (const int64_t wrong : {33, 0, -1}) {
    testing::expect_refused(
        [&] { effective_result(directory, with(&ResultOptions::max_length, wrong)); },
        {"model.max_length", "not possible", "1 to 32, the learned positions",
         fmt::to_string(wrong)});
  }
}

TEST(EffectiveResult, MaxLengthOfARotaryModelIsFree) {
  const TinyModel model;
  model.write(
      "config.json",
      R"({"model_type": "qwen2", "hidden_size": 4, "vocab_size": 10, "max_position_embeddings": 32})");
  EXPECT_EQ(effective_result(model.open(), with(&ResultOptions::max_length, 4096)).max_length,
            4096);
}

// --- truncate_dim

TEST(TruncateDim, IsADirectorysUnlessOneIsGiven) {
  const TinyModel model;
  EXPECT_FALSE(effective_result(model.open(), {}).truncate_dim);
  model.write("config_sentence_transformers.json", R"({"truncate_dim": 2})");
  const ModelDirectory directory = model.open();
  EXPECT_EQ(effective_result(directory, {}).dim, 2);
  EXPECT_EQ(effective_result(directory, with(&ResultOptions::truncate_dim, 3)).dim, 3);
  const EffectiveResult whole = effective_result(directory, with(&ResultOptions::truncate_dim, 4));
  EXPECT_EQ(whole.dim, 4);
  EXPECT_THAT(kinds(whole), ElementsAre(Kind::kPooling, Kind::kNormalize));
}

// sentence-transformers' encode() has the same order: Normalize of the directory, the cut, and then
// normalization only if the caller asks for it.
TEST(TruncateDim, ComesAfterTheDirectorysNormalize) {
  const ModelDirectory directory = TinyModel().open();
  ResultOptions options = with(&ResultOptions::truncate_dim, 3);
  const EffectiveResult cut = effective_result(directory, options);
  EXPECT_THAT(kinds(cut), ElementsAre(Kind::kPooling, Kind::kNormalize, Kind::kTruncate));
  EXPECT_FALSE(cut.normalize);
  options.normalize = true;
  EXPECT_THAT(kinds(effective_result(directory, options)),
              ElementsAre(Kind::kPooling, Kind::kNormalize, Kind::kTruncate, Kind::kNormalize));
  EXPECT_TRUE(effective_result(directory, options).normalize);
  options.normalize = false;
  EXPECT_THAT(kinds(effective_result(directory, options)),
              ElementsAre(Kind::kPooling, Kind::kTruncate));
}

TEST(TruncateDim, WiderThanTheEmbeddingIsRefused) {
  const TinyModel model;
  const ModelDirectory directory = model.open();
  for (const int64_t wrong : {5, 0}) {
    testing::expect_refused(
        [&] { effective_result(directory, with(&ResultOptions::truncate_dim, wrong)); },
        {"model.truncate_dim", "wider than the embedding", "1 to 4", fmt::to_string(wrong)});
  }
  model.write("config_sentence_transformers.json", R"({"truncate_dim": 0})");
  testing::expect_refused([&model] { model.open(); }, {"model.prompts", "'truncate_dim'", "", "0"});
}

// --- Prompts

TEST(Prompts, ByName) {
  EXPECT_EQ(
      effective_result(TinyModel().open(), with(&ResultOptions::prompt_name, "passage")).prompt,
      "passage: ");
}

TEST(Prompts, LiteralGoesBeforeName) {
  ResultOptions options = with(&ResultOptions::prompt_name, "passage");
  options.prompt = "literal ";
  EXPECT_EQ(effective_result(TinyModel().open(), options).prompt, "literal ");
}

TEST(Prompts, UnknownNameListsTheValidOnes) {
  const ModelDirectory directory = TinyModel().open();
  testing::expect_refused(
      [&directory] { effective_result(directory, with(&ResultOptions::prompt_name, "qery")); },
      {"model.prompt_name", "no prompt of this name", "one of: passage, query", "'qery'"});
}

TEST(Prompts, NameOnAModelWithoutPromptsIsRefused) {
  const TinyModel model;
  model.remove("config_sentence_transformers.json");
  const ModelDirectory directory = model.open();
  testing::expect_refused(
      [&directory] { effective_result(directory, with(&ResultOptions::prompt_name, "query")); },
      {"model.prompt_name", "no prompt", "this model has no prompts", "'query'"});
}

TEST(Prompts, DefaultIsUsedUnlessOneIsGiven) {
  const TinyModel model;
  model.write("config_sentence_transformers.json",
              R"({"prompts": {"query": "q: ", "document": ""}, "default_prompt_name": "query"})");
  const ModelDirectory directory = model.open();
  EXPECT_EQ(effective_result(directory, {}).prompt, "q: ");
  EXPECT_EQ(effective_result(directory, with(&ResultOptions::prompt, "")).prompt, "");
  EXPECT_EQ(effective_result(directory, with(&ResultOptions::prompt_name, "document")).prompt, "");
}

TEST(Prompts, DefaultMustBeAPromptExceptTheTwoThatAlwaysExist) {
  const TinyModel model;
  model.write("config_sentence_transformers.json", R"({"default_prompt_name": "document"})");
  EXPECT_EQ(effective_result(model.open(), {}).prompt, "");
  model.write("config_sentence_transformers.json",
              R"({"prompts": {"a": "b"}, "default_prompt_name": "c"})");
  testing::expect_refused([&model] { model.open(); },
                          {"model.prompts", "'default_prompt_name'", "a name in 'prompts'", "'c'"});
}

TEST(Prompts, OtherKindsOfModelsAreRefused) {
  const TinyModel model;
  for (const char* text :
       {R"({"model_type": "CrossEncoder"})", R"({"model_type": "SparseEncoder"})"}) {
    model.write("config_sentence_transformers.json", text);
    testing::expect_refused([&model] { model.open(); }, {"model.unsupported", "", "", ""});
  }
  model.write("config_sentence_transformers.json",
              R"({"model_type": "SentenceTransformer", "truncate_dim": null})");
  EXPECT_NO_THROW(model.open());
}

TEST(Similarity, IsNotedAndCosineByDefault) {
  const TinyModel model;
  EXPECT_EQ(model.open().similarity, "cosine");
  model.write("config_sentence_transformers.json", R"({"similarity_fn_name": "dot"})");
  EXPECT_EQ(model.open().similarity, "dot");
  model.write("config_sentence_transformers.json", R"({"similarity_fn_name": "maxsim"})");
  EXPECT_EQ(model.open().similarity, "cosine");
  ASSERT_EQ(model.open().warnings.size(), 1u);
  EXPECT_NE(model.open().warnings[0].find("'maxsim'"), std::string::npos);
}

}  // namespace
}  // namespace encode
