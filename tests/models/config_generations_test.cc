// Tests that a config.json of transformers 4 gives the same model as a config.json of
// transformers 5.
#include <filesystem>
#include <functional>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "loaded_model.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

struct OlderConfig {
  std::string label;
  std::string model;
  std::function<void(Json&)> rewrite;
  bool same = true;
};

class ConfigGenerations : public ::testing::TestWithParam<OlderConfig> {};

TEST_P(ConfigGenerations, GiveTheSameBits) {
  const auto& [label, model, rewrite, same] = GetParam();
  const TempDir dir;
  const std::string copy = dir.file(model);
  std::filesystem::copy(test_data("models/" + model), copy);
  Json config = Json::parse(read_bytes(copy + "/config.json"));
  rewrite(config);
  write_bytes(copy + "/config.json", config.dump());
  const PackedBatch batch = pack_sequences(model, all_rows(model));
  const at::Tensor current = LoadedModel(test_data("models/" + model), at::kFloat).forward(batch);
  EXPECT_EQ(at::equal(LoadedModel(copy, at::kFloat).forward(batch), current), same);
}

void rope_theta_at_the_top(Json& c) {
  c["rope_theta"] = c["rope_parameters"]["rope_theta"];
  c["rope_scaling"] = c["rope_parameters"];
  c["rope_scaling"].erase("rope_theta");
  c["rope_scaling"]["type"] = c["rope_scaling"]["rope_type"];
  c["rope_scaling"].erase("rope_type");
  c.erase("rope_parameters");
}

void modernbert_of_2024(Json& c) {
  c["global_rope_theta"] = c["rope_parameters"]["full_attention"]["rope_theta"];
  c["local_rope_theta"] = c["rope_parameters"]["sliding_attention"]["rope_theta"];
  c["global_attn_every_n_layers"] = 2;
  c.erase("rope_parameters");
  c.erase("layer_types");
}

void gemma3_of_2025(Json& c) {
  c["rope_theta"] = c["rope_parameters"]["full_attention"]["rope_theta"];
  c["rope_local_base_freq"] = c["rope_parameters"]["sliding_attention"]["rope_theta"];
  c["sliding_window_pattern"] = 2;
  c.erase("rope_parameters");
  c.erase("layer_types");
}

void gpt_neox_of_2022(Json& c) {
  c["rotary_emb_base"] = c["rope_parameters"]["rope_theta"];
  c["rotary_pct"] = c["rope_parameters"]["partial_rotary_factor"];
  c.erase("rope_parameters");
}

void phi_of_2023(Json& c) {
  c["rope_theta"] = c["rope_parameters"]["rope_theta"];
  c["partial_rotary_factor"] = c["rope_parameters"]["partial_rotary_factor"];
  c.erase("rope_parameters");
}

void lfm2_of_2025(Json& c) {
  c["rope_theta"] = c["rope_parameters"]["rope_theta"];
  c["block_ff_dim"] = c["intermediate_size"];
  c["full_attn_idxs"] = {1};
  for (const char* key : {"rope_parameters", "intermediate_size", "layer_types"}) c.erase(key);
}

void bloom_of_2022(Json& c) {
  c["n_embed"] = c["hidden_size"];
  c["num_attention_heads"] = c["n_head"];
  c["n_inner"] = nullptr;
  for (const char* key : {"hidden_size", "n_head"}) c.erase(key);
}

INSTANTIATE_TEST_SUITE_P(
    Transformers4, ConfigGenerations,
    ::testing::Values(OlderConfig{"Llama", "llama", rope_theta_at_the_top},
                      OlderConfig{"Llama3", "llama_rope_llama3", rope_theta_at_the_top},
                      OlderConfig{"Yarn", "llama_rope_yarn", rope_theta_at_the_top},
                      OlderConfig{"ModernBert", "modernbert", modernbert_of_2024},
                      OlderConfig{"Gemma3", "gemma3", gemma3_of_2025},
                      OlderConfig{"Qwen2", "qwen2_window", [](Json& c) { c.erase("layer_types"); }},
                      OlderConfig{"DebertaAttention", "deberta_v2",
                                  [](Json& c) { c["pos_att_type"] = "p2c|c2p"; }},
                      OlderConfig{"GptNeox", "gpt_neox", gpt_neox_of_2022},
                      OlderConfig{"GptNeoxDefaultPart", "gpt_neox",
                                  [](Json& c) { c.erase("rope_parameters"); }},
                      OlderConfig{"Phi", "phi", phi_of_2023},
                      OlderConfig{"Lfm2", "lfm2", lfm2_of_2025},
                      OlderConfig{"Bloom", "bloom", bloom_of_2022},
                      // These are the controls: another value of the same keys changes the result.
                      OlderConfig{"ControlOtherBase", "modernbert",
                                  [](Json& c) {
                                    modernbert_of_2024(c);
                                    c["local_rope_theta"] = 500.0;
                                  },
                                  false},
                      OlderConfig{"ControlAnotherPartOfAHead", "gpt_neox",
                                  [](Json& c) {
                                    gpt_neox_of_2022(c);
                                    c["rotary_pct"] = 0.5;
                                  },
                                  false},
                      OlderConfig{"ControlOneTermLess", "deberta_v2",
                                  [](Json& c) { c["pos_att_type"] = "c2p"; }, false}),
    [](const auto& param) { return param.param.label; });

}  // namespace
}  // namespace encode::testing
