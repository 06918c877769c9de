// Tests the sizes that config.json does not state, and the table of architectures.
#include "model_dir/model_sizes.h"

#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "model_dir/supported_architectures.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// Returns the config.json of a tiny model, without `erased` and with the fields of `changed`.
Json config_of(const std::string& model, const std::string& erased,
               const Json& changed = Json::object()) {
  Json config = Json::parse(read_bytes(test_data("models/" + model + "/config.json")));
  config.erase(erased);
  config.update(changed);
  return config;
}

ModelSizes sizes_of(const Json& config) {
  const auto type = config.at("model_type").get<std::string>();
  return model_sizes(*find_architecture(type), JsonFields(config, "config.json", "model.config"));
}

TEST(ModelSizes, WithoutHeadDimAreThoseOfTheClass) {
  for (const char* model : {"gemma", "gemma2", "gemma3"})
    EXPECT_EQ(sizes_of(config_of(model, "head_dim")).head_dim, 256) << model;
  for (const char* model : {"qwen3", "ministral3"})
    EXPECT_EQ(sizes_of(config_of(model, "head_dim")).head_dim, 128) << model;
  for (const char* model : {"llama", "mistral", "qwen3_moe"})
    EXPECT_EQ(sizes_of(config_of(model, "head_dim")).head_dim, 32 / 4) << model;
  EXPECT_EQ(sizes_of(config_of("qwen3", "")).head_dim, 12) << "the control: the field decides";
}

TEST(ModelSizes, OnlyDecodersAndT5StateTheWidthOfAHead) {
  EXPECT_EQ(sizes_of(config_of("roberta", "", {{"head_dim", 20}})).head_dim, 32 / 4);
  EXPECT_EQ(sizes_of(config_of("t5", "")).head_dim, 12);
  EXPECT_THROW(sizes_of(config_of("t5", "d_kv")), Error);
}

TEST(ModelSizes, WithoutKeyValueHeadsAreThoseOfTheClass) {
  const Json eight = {{"num_attention_heads", 8}};
  for (const char* model : {"ministral", "ministral3", "lfm2"}) {
    const Json sixteen = {{"num_attention_heads", 16}};
    EXPECT_EQ(sizes_of(config_of(model, "num_key_value_heads", sixteen)).num_key_value_heads, 8)
        << model;
  }
  EXPECT_EQ(sizes_of(config_of("qwen3_moe", "num_key_value_heads", eight)).num_key_value_heads, 4);
  for (const char* model : {"llama", "qwen2", "qwen3", "gemma", "phi"})
    EXPECT_EQ(sizes_of(config_of(model, "num_key_value_heads", eight)).num_key_value_heads, 8)
        << model;
  EXPECT_EQ(sizes_of(config_of("llama", "")).num_key_value_heads, 2) << "the control";
}

TEST(ModelSizes, WithoutEmbeddingSizeAreThoseOfTheClass) {
  EXPECT_EQ(sizes_of(config_of("albert", "embedding_size")).embedding_size, 128);
  EXPECT_EQ(sizes_of(config_of("electra", "embedding_size")).embedding_size, 128);
  EXPECT_EQ(sizes_of(config_of("rembert", "input_embedding_size")).embedding_size, 256);
  EXPECT_EQ(sizes_of(config_of("bert", "", {{"embedding_size", 24}})).embedding_size, 64)
      << "BERT has no such field";
}

TEST(ModelSizes, AlbertProjectsEvenToTheSameWidth) {
  const Json same = {{"embedding_size", 32}};
  EXPECT_TRUE(sizes_of(config_of("albert", "", same)).projects_embeddings);
  EXPECT_FALSE(sizes_of(config_of("electra", "", same)).projects_embeddings);
}

TEST(ModelSizes, OfNvEmbedAreThoseOfItsTextConfig) {
  Json config = config_of("nv_embed", "");
  config["hidden_size"] = 4096;
  config["text_config"].erase("num_key_value_heads");
  const ModelSizes sizes = sizes_of(config);
  EXPECT_EQ(sizes.hidden_size, 32);
  EXPECT_EQ(sizes.num_key_value_heads, 4);
  EXPECT_TRUE(sizes.gated);
  EXPECT_FALSE(sizes.causal);
}

// NV-Embed keeps two products of heads x latents in place of the projections of the checkpoint.
TEST(ModelSizes, OfNvEmbedCountWhatIsKept) {
  const ModelSizes sizes = sizes_of(config_of("nv_embed", ""));
  constexpr int64_t kHidden = 32;
  constexpr int64_t kScores = 2 * 6;
  int64_t kept = 0;
  for (const WeightShape& matrix : sizes.extra_matrices) kept += matrix.elements();
  EXPECT_EQ(kept, 2 * kScores * kHidden + 8 * kHidden * kHidden + 4 * kHidden * kHidden);
  EXPECT_EQ(sizes.folded_elements, (6 + 4 * 2 * 20) * kHidden - 2 * kScores * kHidden);
}

TEST(ModelSizes, OfMt5AreGatedUnlessItsConfigSaysOtherwise) {
  const Json plain = {{"feed_forward_proj", "relu"}};
  for (const char* model : {"mt5", "umt5"}) {
    Json config = config_of(model, "is_gated_act");
    EXPECT_TRUE(sizes_of(config).gated);
    config.update(plain);
    EXPECT_FALSE(sizes_of(config).gated);
    config.erase("feed_forward_proj");
    EXPECT_TRUE(sizes_of(config).gated);
  }
  Json t5 = config_of("t5", "is_gated_act");
  t5.erase("feed_forward_proj");
  EXPECT_FALSE(sizes_of(t5).gated);
}

TEST(ModelSizes, OnlyBertCanHaveAlibi) {
  const Json alibi = {{"position_embedding_type", "alibi"}};
  EXPECT_TRUE(sizes_of(config_of("bert", "", alibi)).relative());
  EXPECT_TRUE(sizes_of(config_of("bert", "", alibi)).gated);
  EXPECT_FALSE(sizes_of(config_of("albert", "", alibi)).relative());
}

TEST(ModelSizes, APositionTableHasTheRowsOfTheClass) {
  EXPECT_EQ(sizes_of(config_of("codesage", "max_position_embeddings")).position_rows(), 1024);
  EXPECT_EQ(sizes_of(config_of("gpt2", "n_positions")).position_rows(), 1024);
  EXPECT_EQ(sizes_of(config_of("gpt_neo", "max_position_embeddings")).position_rows(), 2048);
  EXPECT_EQ(sizes_of(config_of("llama", "")).position_rows(), 0);
}

TEST(ModelSizes, HeadsThatDoNotFitAreRefused) {
  EXPECT_THROW(sizes_of(config_of("bert", "", {{"num_attention_heads", 5}})), Error);
  EXPECT_THROW(sizes_of(config_of("llama", "", {{"num_key_value_heads", 3}})), Error);
}

TEST(Architectures, HaveDifferentNames) {
  for (const ArchitectureEntry& entry : kArchitectures) {
    EXPECT_EQ(find_architecture(entry.model_type), &entry_of(entry.key));
    if (entry.class_name.empty()) continue;
    EXPECT_EQ(model_type_of_class(std::string(entry.class_name) + "Model"), entry.model_type);
  }
  EXPECT_EQ(find_architecture("whisper"), nullptr);
  EXPECT_EQ(model_type_of_class("WhisperModel"), "");
  EXPECT_EQ(model_type_of_class("BigBirdModel"), "big_bird");
}

}  // namespace
}  // namespace encode::testing
