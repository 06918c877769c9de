// Tests the error messages for a checkpoint that does not fit its config.json. A message names the
// tensor, the expected shape and the fields that determine the shape.
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/json.h"
#include "engine/load_encoder.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

// Copies a tiny model and edits its config.json. Returns the folder of the copy.
std::string edited_model(const testing::TempDir& dir, const std::string& name,
                         const std::function<void(Json&)>& edit) {
  const std::string copy = dir.file(name);
  std::filesystem::copy(testing::test_data("models/" + name), copy);
  Json config = Json::parse(testing::read_bytes(copy + "/config.json"));
  edit(config);
  testing::write_bytes(copy + "/config.json", config.dump());
  return copy;
}

ErrorDetail load_error(const std::string& model) {
  EncoderOptions options;
  options.hardware.device = parse_device("cpu");
  options.threads = 1;
  try {
    const ModelDirectory directory = open_model_directory(model);
    load_encoder(directory, effective_result(directory, {}), options);
  } catch (const Error& error) {
    return error.detail();
  }
  return {};
}

ErrorDetail load_error_with(const std::string& model, const std::string& key, const Json& value) {
  const testing::TempDir dir;
  return load_error(edited_model(dir, model, [&](Json& c) { c[key] = value; }));
}

struct Defect {
  std::string label;
  std::string model;
  std::function<void(Json&)> edit;
  std::string code;
  std::string mentions;  // a text that the rendered message must contain
};

class BrokenCheckpoint : public ::testing::TestWithParam<Defect> {};

TEST_P(BrokenCheckpoint, IsRefusedWithTheReason) {
  const testing::TempDir dir;
  const ErrorDetail error = load_error(edited_model(dir, GetParam().model, GetParam().edit));
  EXPECT_EQ(error.code.name(), GetParam().code) << render(error);
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_THAT(render(error), HasSubstr(GetParam().mentions));
  EXPECT_FALSE(error.expected.empty());
  EXPECT_FALSE(error.found.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Configs, BrokenCheckpoint,
    ::testing::Values(
        Defect{"OtherHiddenSize", "bert", [](Json& c) { c["hidden_size"] = 32; }, "model.shape",
               "hidden_size"},
        Defect{"MoreLayers", "bert", [](Json& c) { c["num_hidden_layers"] = 3; }, "model.tensor",
               "encoder.layer.2"},
        Defect{"MoreLayersThanFound", "bert", [](Json& c) { c["num_hidden_layers"] = 40; },
               "model.tensor", "the last layer is 'encoder.layer.1'"},
        Defect{"FewerLayers", "bert", [](Json& c) { c["num_hidden_layers"] = 1; }, "model.tensor",
               "not part of"},
        Defect{"OddHeads", "bert", [](Json& c) { c["num_attention_heads"] = 5; }, "model.config",
               "a divisor of"},
        Defect{"UnknownActivation", "bert", [](Json& c) { c["hidden_act"] = "mish"; },
               "model.config", "gelu"},
        Defect{"RelativePositions", "bert",
               [](Json& c) { c["position_embedding_type"] = "relative_key"; }, "model.config",
               "absolute"},
        Defect{"OtherPadding", "mpnet", [](Json& c) { c["pad_token_id"] = 2; }, "model.config",
               "pad_token_id"},
        Defect{"UnknownArchitecture", "bert", [](Json& c) { c["model_type"] = "gpt_bigcode"; },
               "model.type", "encode models"},
        Defect{"OtherArchitecture", "bert",
               [](Json& c) {
                 c.update({{"model_type", "qwen2"}, {"hidden_act", "silu"}});
               },
               "model.tensor", "embed_tokens.weight"},
        Defect{"OtherHeadDim", "qwen2", [](Json& c) { c["num_key_value_heads"] = 4; },
               "model.shape", "num_key_value_heads 4 x head_dim"},
        Defect{"UnknownRope", "qwen2",
               [](Json& c) { c["rope_parameters"]["rope_type"] = "longrope"; }, "model.config",
               "longrope"},
        Defect{"WindowOfNothing", "qwen2",
               [](Json& c) {
                 c["use_sliding_window"] = true;
                 c["sliding_window"] = 0;
               },
               "model.config", "sliding_window"},
        Defect{"WindowsThatAreOff", "qwen2_window",
               [](Json& c) { c["use_sliding_window"] = false; }, "model.config", "layer_types"},
        Defect{"LayerTypes", "modernbert", [](Json& c) { c["layer_types"] = {"full_attention"}; },
               "model.config", "layer_types"},
        Defect{"OtherBuckets", "t5", [](Json& c) { c["relative_attention_num_buckets"] = 16; },
               "model.shape", "relative_attention_num_buckets"},
        Defect{"FusedHeads", "nomic_bert", [](Json& c) { c["hidden_size"] = 64; }, "model.shape",
               "hidden_size"},
        Defect{"OddPartOfAHead", "gpt_neox",
               [](Json& c) { c["rope_parameters"]["partial_rotary_factor"] = 0.2; }, "model.config",
               "an even part of head_dim 16"},
        Defect{"PartOfAHeadElsewhere", "llama",
               [](Json& c) { c["rope_parameters"]["partial_rotary_factor"] = 0.5; }, "model.config",
               "partial_rotary_factor"},
        Defect{"DefaultRotaryDimOfASmallHead", "gptj", [](Json& c) { c.erase("rotary_dim"); },
               "model.config", "rotary_dim"},
        Defect{"MoreChoicesThanExperts", "nomic_bert_moe", [](Json& c) { c["moe_top_k"] = 5; },
               "model.config", "moe_top_k"},
        Defect{"DefaultChoicesOfFewExperts", "qwen3_moe",
               [](Json& c) { c.erase("num_experts_per_tok"); }, "model.config",
               "num_experts_per_tok"},
        Defect{"OddRotaryDim", "gptj", [](Json& c) { c["rotary_dim"] = 7; }, "model.config",
               "rotary_dim"},
        Defect{"KindsOfTooFewLayers", "gpt_neo",
               [](Json& c) { c["attention_types"] = Json::parse(R"([[["global"], 1]])"); },
               "model.config", "attention_types"},
        Defect{"UnknownKindOfAttention", "gpt_neo",
               [](Json& c) { c["attention_types"] = Json::parse(R"([[["far"], 2]])"); },
               "model.config", "attention_types"},
        Defect{"CrossAttention", "gpt2", [](Json& c) { c["add_cross_attention"] = true; },
               "model.config", "add_cross_attention"},
        Defect{"NormsAsResiduals", "bloom",
               [](Json& c) { c["apply_residual_connection_post_layernorm"] = true; },
               "model.config", "apply_residual_connection_post_layernorm"},
        Defect{"LayersOfOtherKinds", "lfm2",
               [](Json& c) { c["layer_types"] = {"full_attention", "conv"}; }, "model.tensor",
               "self_attn"},
        Defect{"LongerFilter", "lfm2", [](Json& c) { c["conv_L_cache"] = 4; }, "model.shape",
               "conv_L_cache"},
        Defect{"NormedHeads", "phi", [](Json& c) { c["qk_layernorm"] = true; }, "model.config",
               "qk_layernorm"},
        Defect{"MoreExperts", "qwen3_moe", [](Json& c) { c["num_local_experts"] = 5; },
               "model.shape", "num_experts"},
        Defect{"NoTextConfig", "nv_embed", [](Json& c) { c.erase("text_config"); }, "model.config",
               "text_config"},
        Defect{"OtherLatents", "nv_embed",
               [](Json& c) { c["latent_attention_config"]["num_latents_value"] = 7; },
               "model.shape", "num_latents_value"},
        Defect{"SharedProjections", "deberta_v2", [](Json& c) { c["share_att_key"] = false; },
               "model.tensor", "pos_key_proj"},
        Defect{"SimilarName", "deberta_v2", [](Json& c) { c["share_att_key"] = false; },
               "model.tensor", "the nearest is 'encoder.layer.0.attention.self.key_proj.weight'"}),
    [](const auto& param) { return param.param.label; });

// A field of config.json with another value, and how the message shows this value.
struct Edit {
  std::string model;
  std::string key;
  Json value;
  std::string found;
};

std::string name_of(const ::testing::TestParamInfo<Edit>& edit) {
  return edit.param.model + "_" + edit.param.key;
}

class UnsupportedVariant : public ::testing::TestWithParam<Edit> {};

TEST_P(UnsupportedVariant, HasAHintThatAsksForAnotherModel) {
  const Edit& edit = GetParam();
  const ErrorDetail error = load_error_with(edit.model, edit.key, edit.value);
  EXPECT_EQ(error.code.name(), "model.config") << render(error);
  EXPECT_THAT(error.what, HasSubstr("'" + edit.key + "'"));
  EXPECT_EQ(error.found, edit.found);
  EXPECT_THAT(error.hint, HasSubstr("choose another model; do not edit the value"));
}

INSTANTIATE_TEST_SUITE_P(
    Configs, UnsupportedVariant,
    ::testing::Values(
        Edit{"bert", "hidden_act", "mish", "'mish'"}, Edit{"bert", "is_decoder", true, "true"},
        Edit{"bert", "position_embedding_type", "relative_key", "'relative_key'"},
        Edit{"bloom", "apply_residual_connection_post_layernorm", true, "true"},
        Edit{"codesage", "position_embedding_type", "relative", "'relative'"},
        Edit{"deberta", "norm_rel_ebd", "layer_norm", "'layer_norm'"},
        Edit{"deberta", "talking_head", true, "true"},
        Edit{"deberta_v2", "conv_kernel_size", 3, "3"},
        Edit{"deberta_v2", "embedding_size", 16, "16"},
        Edit{"esm", "is_folding_model", true, "true"},
        Edit{"esm", "position_embedding_type", "relative_key", "'relative_key'"},
        Edit{"gpt2", "add_cross_attention", true, "true"},
        Edit{"gte_new", "layer_norm_type", "rms_norm", "'rms_norm'"},
        Edit{"gte_new", "logn_attention_scale", true, "true"},
        Edit{"gte_new", "pack_qkv", false, "false"},
        Edit{"gte_new", "position_embedding_type", "absolute", "'absolute'"},
        Edit{"jina_bert", "feed_forward_type", "original", "'original'"},
        Edit{"lfm2", "layer_types", {"conv", "linear_attention"}, "\"linear_attention\""},
        Edit{"modernbert",
             "layer_types",
             {"full_attention", "linear_attention"},
             "'linear_attention'"},
        Edit{"mpnet", "pad_token_id", 2, "2"},
        Edit{"nomic_bert_moe", "mlp_fc1_bias", false, "false"},
        Edit{"nomic_bert_moe", "num_shared_experts", 1, "1"},
        Edit{"nomic_bert_moe", "prenorm", true, "true"},
        Edit{"nomic_bert_moe", "rotary_emb_fraction", 0.5, "0.5"},
        Edit{"nomic_bert_moe", "rotary_scaling_factor", 2, "2"},
        Edit{"phi", "qk_layernorm", true, "true"}),
    name_of);

// The control for UnsupportedVariant: these values are wrong, so the user may correct them.
class WrongValue : public ::testing::TestWithParam<Edit> {};

TEST_P(WrongValue, HasAHintThatAsksForAnotherValue) {
  const Edit& edit = GetParam();
  const ErrorDetail error = load_error_with(edit.model, edit.key, edit.value);
  EXPECT_EQ(error.code.name(), "model.config") << render(error);
  EXPECT_EQ(error.found, edit.found);
  EXPECT_THAT(error.hint, HasSubstr("correct the value"));
}

INSTANTIATE_TEST_SUITE_P(
    Configs, WrongValue,
    ::testing::Values(Edit{"bert", "num_attention_heads", 5, "5"}, Edit{"bloom", "n_embed", 7, "7"},
                      Edit{"deberta_v2", "conv_kernel_size", "3", "\"3\""},
                      Edit{"gptj", "rotary_dim", 7, "7"},
                      Edit{"lfm2", "layer_types", {"conv", 1}, "1"},
                      Edit{"modernbert", "layer_types", {"full_attention"}, "1 entries"},
                      Edit{"phi", "qk_layernorm", "no", "\"no\""}),
    name_of);

TEST(BrokenCheckpointControl, TheUnchangedCopyLoads) {
  const testing::TempDir dir;
  EXPECT_EQ(load_error(edited_model(dir, "bert", [](Json&) {})).code.name(), "");
  EXPECT_EQ(load_error(edited_model(dir, "qwen2", [](Json&) {})).code.name(), "");
}

}  // namespace
}  // namespace encode
