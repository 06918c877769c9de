// Tests that a missing field of config.json has the default of the config class in
// transformers 5.17. scripts/reference/check_config_defaults.py compares all fields of all
// architectures with transformers.
#include <filesystem>
#include <ostream>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "loaded_model.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

struct Default {
  std::string model;  // a folder of tests/data/models
  std::string key;
  Json value;  // the default of the class
  Json other;  // the control: another value gives another result

  friend std::ostream& operator<<(std::ostream& out, const Default& row) {
    return out << row.model << " " << row.key;
  }
};

class ConfigDefault : public ::testing::TestWithParam<Default> {};

// The hidden states of the model with `key` set to `value`, or without the key if `value` is null.
at::Tensor states_with(const Default& row, const Json& value) {
  const TempDir dir;
  const std::string copy = dir.file(row.model);
  std::filesystem::copy(test_data("models/" + row.model), copy);
  Json config = Json::parse(read_bytes(copy + "/config.json"));
  config.erase(row.key);
  if (row.key == "feed_forward_proj") config.erase("dense_act_fn");  // it would win
  if (!value.is_null()) config[row.key] = value;
  write_bytes(copy + "/config.json", config.dump());
  return LoadedModel(copy, at::kFloat).forward(pack_sequences(row.model, all_rows(row.model)));
}

TEST_P(ConfigDefault, IsThatOfTransformers) {
  const at::Tensor missing = states_with(GetParam(), nullptr);
  EXPECT_TRUE(at::equal(missing, states_with(GetParam(), GetParam().value)));
  EXPECT_FALSE(at::equal(missing, states_with(GetParam(), GetParam().other)));
}

INSTANTIATE_TEST_SUITE_P(
    Missing, ConfigDefault,
    ::testing::Values(Default{"albert", "hidden_act", "gelu_new", "gelu"},
                      Default{"bert", "layer_norm_eps", 1e-12, 1e-5},
                      Default{"bloom", "layer_norm_epsilon", 1e-5, 1e-2},
                      Default{"codesage", "activation_function", "gelu_new", "gelu"},
                      Default{"deberta_v2", "layer_norm_eps", 1e-7, 1e-12},
                      Default{"deberta_absolute", "pos_att_type", Json::array(), {"c2p", "c2p"}},
                      Default{"eurobert", "rms_norm_eps", 1e-5, 1e-6},
                      Default{"gemma2", "attn_logit_softcapping", 50.0, 5.0},
                      Default{"gpt2", "activation_function", "gelu_new", "gelu"},
                      Default{"gpt_neo", "window_size", 256, 8},
                      Default{"gpt_neox", "hidden_act", "gelu", "gelu_new"},
                      Default{"gptj", "layer_norm_epsilon", 1e-5, 1e-2},
                      Default{"jina_embeddings_v3", "layer_norm_eps", 1e-5, 1e-12},
                      Default{"lfm2", "norm_eps", 1e-5, 1e-2},
                      Default{"ministral", "sliding_window", 4096, 8},
                      Default{"ministral3", "rms_norm_eps", 1e-5, 1e-2},
                      Default{"mt5", "feed_forward_proj", "gated-gelu", "gated-relu"},
                      Default{"olmo2", "rms_norm_eps", 1e-5, 1e-2},
                      Default{"phi", "hidden_act", "gelu_new", "gelu"},
                      Default{"qwen3_moe", "norm_topk_prob", false, true},
                      Default{"t5_gated", "dense_act_fn", "gelu_new", "silu"},
                      Default{"xlm_roberta_xl", "layer_norm_eps", 1e-5, 1e-12}),
    [](const auto& row) { return row.param.model; });

}  // namespace
}  // namespace encode::testing
