// GPT-2 (Radford et al. 2019), GPT-Neo (Black et al. 2021) and BLOOM (Le Scao et al. 2022), which
// have the same layer. These are the differences:
//
//            positions      scores                          keys that a query sees
//   GPT-2    a table        / sqrt(head_dim)                all up to its own
//   GPT-Neo  a table        not scaled                      all, or the last window_size keys
//   BLOOM    ALiBi          / sqrt(head_dim)                all up to its own
//
// BLOOM normalizes its word embeddings. GPT-2 stores its weights transposed (load_conv1d()), and
// BLOOM stores queries, keys and values head by head (load_qkv_by_head()). References:
// modeling_gpt2.py, modeling_gpt_neo.py and modeling_bloom.py of Hugging Face transformers.
#include <fmt/format.h>

#include <ATen/ops/embedding.h>

#include "base/units.h"
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/gpt_decoder.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

// The layer of GPT-2:
//   y = x + Attention(LayerNorm(x))
//   x = y + MLP(LayerNorm(y)),  MLP(z) = W2 act(W1 z + b1) + b2
//   Attention(z) = Wo softmax(scale x q k^T - slope of the head x distance) v + bo
// q, k and v are projections of z. The distance of query i and key j is i - j. Only BLOOM has
// slopes (ALiBi, Press et al. 2022). act is the tanh form of gelu in the published models.
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using GptLayer = PreNormLayer<LayerNorm>;

struct GptParts {
  at::Tensor words;                              // [vocab_size, hidden_size]
  at::Tensor positions = {};                     // [max positions, hidden_size]; undefined: ALiBi
  std::optional<LayerNorm> embedding_norm = {};  // of the word embeddings, in BLOOM
  std::optional<RelativePositions> alibi = {};
  std::vector<GptLayer> layers;
  std::vector<AttentionWindow> windows;  // of each layer
  LayerNorm norm;                        // after the last layer
};

class Gpt : public Model {
 public:
  explicit Gpt(GptParts parts) : parts_(std::move(parts)) {}

  //   x = words[ids] (+ positions, not BLOOM); x = LayerNorm(x) (BLOOM)
  //   x = layer(x), layer after layer; the result is LayerNorm(x)
  at::Tensor forward(const PackedInput& batch) const override {
    ResidualSum x = {at::embedding(parts_.words, batch.input_ids)};
    if (parts_.positions.defined()) x.sum.add_(at::embedding(parts_.positions, batch.position_ids));
    if (parts_.embedding_norm) x.sum = (*parts_.embedding_norm)(x.sum);
    std::optional<RelativePositions> alibi;
    if (parts_.alibi) alibi = for_batch(*parts_.alibi, batch, x.sum, parts_.windows.front());
    x = run_layers(parts_.layers, x, [&](size_t layer) {
      return LayerContext{
          .batch = batch, .window = parts_.windows[layer], .relative = alibi ? &*alibi : nullptr};
    });
    return parts_.norm(x);
  }

 private:
  GptParts parts_;
};

std::vector<AttentionWindow> every_layer(const GptConfig& config) {
  return std::vector(static_cast<size_t>(config.num_hidden_layers), config.full());
}

ModuleLoader gpt2_root(const ModelSource& source, const char* words) {
  return {source.weights.root(fmt::format("{}.weight", words), {"", "transformer."}), source};
}

GptLayer load_gpt2_layer(const ModuleLoader& layer, const GptConfig& config) {
  const ModuleLoader attn = layer.scope("attn");
  const ModuleLoader mlp = layer.scope("mlp");
  const AttentionShape& shape = config.attention;
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {.attention_norm = norm("ln_1"),
          .attention = {load_conv1d(attn, "c_attn", {shape.query_key_value(), shape.hidden()}),
                        load_conv1d(attn, "c_proj", {shape.hidden(), shape.query()}), shape},
          .mlp_norm = norm("ln_2"),
          .mlp = {load_conv1d(mlp, "c_fc", {config.inner(), config.hidden()}, config.hidden_act),
                  load_conv1d(mlp, "c_proj", {config.hidden(), config.inner()})}};
}

// Returns the scale of the scores in a layer of GPT-2. Ignores reorder_and_upcast_attn: with this
// setting the reference computes the scores in float32, and encode always computes them in float32.
double gpt2_scale(const JsonFields& json, const AttentionShape& shape, int64_t layer) {
  const double scale = json.boolean_or("scale_attn_weights", true) ? shape.scale : 1;
  return json.boolean_or("scale_attn_by_inverse_layer_idx", false)
             ? scale / static_cast<double>(layer + 1)
             : scale;
}

GptLayer load_gpt_neo_layer(const ModuleLoader& layer, const GptConfig& config) {
  const ModuleLoader attention = layer.scope("attn.attention");
  const AttentionShape& shape = config.attention;
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {.attention_norm = norm("ln_1"),
          .attention = {attention.fused({{"q_proj", shape.query()},
                                         {"k_proj", shape.key_value()},
                                         {"v_proj", shape.key_value()}},
                                        shape.hidden(), {.bias = false}),
                        attention.linear("out_proj", shape.hidden(), shape.query()), shape},
          .mlp_norm = norm("ln_2"),
          .mlp = load_mlp(layer.scope("mlp"), {.up = "c_fc", .down = "c_proj"}, config)};
}

// Returns the window of each layer from attention_types, a list of [[kinds], count]: the kinds are
// repeated `count` times. The default is from GPTNeoConfig in transformers.
std::vector<AttentionWindow> gpt_neo_windows(const JsonFields& json, const GptConfig& config) {
  const Json types = json.has("attention_types") ? json.array("attention_types")
                                                 : Json::parse(R"([[["global", "local"], 12]])");
  const auto refuse = [&] {
    json.refuse("attention_types",
                fmt::format("a list of [[\"global\" or \"local\", ..], count] for {} layers",
                            config.num_hidden_layers),
                preview(types.dump()));
  };
  const int64_t width = json.integer_or("window_size", 256, 1, kMaxWindowTokens);
  std::vector<AttentionWindow> windows;
  for (const Json& part : types) {
    if (!part.is_array() || part.size() != 2 || !part[0].is_array() ||
        !part[1].is_number_integer() || part[1] < 0 || part[1] > kMaxLayers)
      refuse();
    for (int64_t i = 0; i < part[1].get<int64_t>(); ++i) {
      for (const Json& kind : part[0]) {
        if (kind != "global" && kind != "local") refuse();
        windows.push_back(kind == "local" ? AttentionWindow{.left = width - 1, .right = 0}
                                          : AttentionWindow::causal());
      }
    }
  }
  if (windows.size() != static_cast<size_t>(config.num_hidden_layers)) refuse();
  return windows;
}

GptLayer load_bloom_layer(const ModuleLoader& layer, const GptConfig& config) {
  const ModuleLoader attention = layer.scope("self_attention");
  const AttentionShape& shape = config.attention;
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {.attention_norm = norm("input_layernorm"),
          .attention = {load_qkv_by_head(attention, "query_key_value", shape, /*bias=*/true),
                        attention.linear("dense", shape.hidden(), shape.query()), shape},
          .mlp_norm = norm("post_attention_layernorm"),
          .mlp = load_mlp(layer.scope("mlp"), {.up = "dense_h_to_4h", .down = "dense_4h_to_h"},
                          config)};
}

void require_false(const JsonFields& json, const char* key) {
  if (json.boolean_or(key, false)) json.refuse_variant(key, "false");
}

}  // namespace

std::unique_ptr<Model> load_gpt2(const ModelSource& source) {
  const JsonFields& json = source.config;
  require_false(json, "add_cross_attention");
  const GptConfig config(source, kGpt2Keys, Activation::kGeluTanh);
  const ModuleLoader root = gpt2_root(source, "wte");
  const Dim positions = {"n_positions", source.sizes.position_rows()};
  std::vector<GptLayer> layers;
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    GptConfig own = config;
    own.attention.scale = gpt2_scale(json, config.attention, i);
    layers.push_back(load_gpt2_layer(root.scope(fmt::format("h.{}", i)), own));
  }
  auto model = std::make_unique<Gpt>(
      GptParts{.words = root.table("wte", {"vocab_size", config.vocab_size}, config.hidden()),
               .positions = root.table("wpe", positions, config.hidden()),
               .layers = std::move(layers),
               .windows = every_layer(config),
               .norm = root.layer_norm("ln_f", config.hidden(), config.layer_norm_eps)});
  // Older checkpoints store the causal mask as attn.bias and attn.masked_bias.
  source.weights.expect_all_taken({"lm_head.weight", ".attn.bias", ".attn.masked_bias"});
  return model;
}

std::unique_ptr<Model> load_gpt_neo(const ModelSource& source) {
  const JsonFields& json = source.config;
  GptConfig config(source, kGpt2Keys, Activation::kGeluTanh);
  // The reference always applies a causal mask. It does not read is_causal.
  if (source.causal == false) json.refuse("is_causal", "true: GPT-Neo is always causal", "false");
  config.attention.scale = 1;
  const ModuleLoader root = gpt2_root(source, "wte");
  const Dim positions = {"max_position_embeddings", source.sizes.position_rows()};
  auto model = std::make_unique<Gpt>(
      GptParts{.words = root.table("wte", {"vocab_size", config.vocab_size}, config.hidden()),
               .positions = root.table("wpe", positions, config.hidden()),
               .layers = root.layers("h.", config.num_hidden_layers, load_gpt_neo_layer, config),
               .windows = gpt_neo_windows(json, config),
               .norm = root.layer_norm("ln_f", config.hidden(), config.layer_norm_eps)});
  source.weights.expect_all_taken(
      {"lm_head.weight", ".attn.attention.bias", ".attn.attention.masked_bias"});
  return model;
}

std::unique_ptr<Model> load_bloom(const ModelSource& source) {
  const JsonFields& json = source.config;
  require_false(json, "apply_residual_connection_post_layernorm");
  if (json.has("hidden_size") && json.has("n_embed") &&
      json.integer("hidden_size", 1, kMaxHiddenSize) != json.integer("n_embed", 1, kMaxHiddenSize))
    json.refuse("n_embed", "the value of hidden_size");
  GptConfig config(source, kGpt2Keys, Activation::kGeluTanh);
  // The reference does not read activation_function.
  config.hidden_act = Activation::kGeluTanh;
  const ModuleLoader root = gpt2_root(source, "word_embeddings");
  const auto norm = [&](const char* name) {
    return root.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  auto model = std::make_unique<Gpt>(GptParts{
      .words = root.table("word_embeddings", {"vocab_size", config.vocab_size}, config.hidden()),
      .embedding_norm = norm("word_embeddings_layernorm"),
      .alibi = signed_alibi_bias(config.attention.num_attention_heads, source.max_positions,
                                 source.device),
      .layers = root.layers("h.", config.num_hidden_layers, load_bloom_layer, config),
      .windows = every_layer(config),
      .norm = norm("ln_f")});
  source.weights.expect_all_taken({"lm_head.weight"});
  return model;
}

}  // namespace encode
