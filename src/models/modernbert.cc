// ModernBERT (Warner et al. 2024), an encoder with rotary positions and a gated MLP. Attention is
// local in most layers. Every few layers it is global, with another rotary base. Reference:
// modeling_modernbert.py of Hugging Face transformers.
#include <fmt/format.h>

#include <ATen/ops/embedding.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/config_fields.h"
#include "models/layers.h"

namespace encode {
namespace {

struct ModernBertConfig : EncoderConfig {
  Activation hidden_activation;
  bool norm_bias;
  bool attention_bias;
  bool mlp_bias;
  int64_t reach;            // the tokens that local attention sees to either side
  std::vector<bool> local;  // for each layer, whether its attention is local
  RopeParameters global_rope;
  RopeParameters local_rope;

  ModernBertConfig(const ModelSource& source, const JsonFields& json)
      : EncoderConfig(source),
        hidden_activation(parse_activation_or(json, "hidden_activation", Activation::kGelu)),
        norm_bias(json.boolean_or("norm_bias", false)),
        attention_bias(json.boolean_or("attention_bias", false)),
        mlp_bias(json.boolean_or("mlp_bias", false)),
        reach(json.integer_or("local_attention", 128, 1, kMaxWindowTokens) / 2),
        global_rope(parse_rope(json, {.head_dim = attention().head_dim,
                                      .default_theta = 160000,
                                      .layer_type = "full_attention",
                                      .theta_key = "global_rope_theta"})),
        local_rope(parse_rope(json, {.head_dim = attention().head_dim,
                                     .layer_type = "sliding_attention",
                                     .theta_key = "local_rope_theta"})) {
    layer_norm_eps = json.number_or("norm_eps", 1e-5, kMinNormEps, kMaxNormEps);
    const int64_t every = json.integer_or("global_attn_every_n_layers", 3, 1, kMaxLayers);
    local = sliding_layers(json, num_hidden_layers,
                           [every](int64_t layer) { return layer % every != 0; });
  }
};

struct ModernBertLayer {
  std::optional<LayerNorm> attention_norm;
  SelfAttention attention;
  LayerNorm mlp_norm;
  FeedForward mlp;

  //   y = x + Attention(LayerNorm(x)); the first layer does not have this norm
  //   x = y + MLP(LayerNorm(y))
  //   Attention(z) = attn.Wo softmax(q k^T / sqrt(head_dim)) v,  (q, k, v) = Wqkv z
  //   MLP(z) = mlp.Wo(act(a) * b),  (a, b) = Wi z,  act is hidden_activation (gelu)
  // q and k are rotated by their positions.
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const Attended attended = attention_norm
                                  ? attention.attend(*attention_norm, std::move(x), context)
                                  : attention.attend(std::move(x), context);
    return finish_rows(context, attended, [this](const Attended& rows) {
      return mlp.add(mlp_norm, attention.add(rows));
    });
  }
};

ModernBertLayer load_modernbert_layer(const ModuleLoader& layer, const ModernBertConfig& config,
                                      bool first) {
  const AttentionShape shape = config.attention();
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, shape.hidden(), config.layer_norm_eps, config.norm_bias);
  };
  const LinearOptions attention = {.bias = config.attention_bias};
  const LinearOptions mlp = {.bias = config.mlp_bias};
  const Dim gate_up = {"2 x intermediate_size", 2 * config.intermediate_size};
  return {
      .attention_norm = first ? std::nullopt : std::optional(norm("attn_norm")),
      .attention = {layer.linear("attn.Wqkv", shape.query_key_value(), shape.hidden(), attention),
                    layer.linear("attn.Wo", shape.hidden(), shape.query(), attention), shape},
      .mlp_norm = norm("mlp_norm"),
      .mlp = FeedForward({.gate_then_up = layer.linear("mlp.Wi", gate_up, shape.hidden(), mlp),
                          .down = layer.linear("mlp.Wo", shape.hidden(), config.inner(), mlp),
                          .gate_activation = config.hidden_activation})};
}

class ModernBert : public Model {
 public:
  ModernBert(const ModuleLoader& root, const ModernBertConfig& config, int64_t max_positions)
      : words_(root.table("embeddings.tok_embeddings", {"vocab_size", config.vocab_size},
                          config.hidden())),
        embeddings_norm_(root.layer_norm("embeddings.norm", config.hidden(), config.layer_norm_eps,
                                         config.norm_bias)),
        global_rotary_(config.global_rope, max_positions, root.device()),
        local_rotary_(config.local_rope, max_positions, root.device()),
        local_(config.local),
        reach_(config.reach),
        final_norm_(root.layer_norm("final_norm", config.hidden(), config.layer_norm_eps,
                                    config.norm_bias)) {
    for (int64_t i = 0; i < config.num_hidden_layers; ++i)
      layers_.push_back(
          load_modernbert_layer(root.scope(fmt::format("layers.{}", i)), config, i == 0));
  }

  // x = LayerNorm(words[ids]); x = layer(x), layer after layer; the result is LayerNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles global_angles = global_rotary_.angles(batch);
    const RotaryAngles local_angles = local_rotary_.angles(batch);
    const LayerContext global = {.batch = batch, .rotary = &global_angles};
    const LayerContext local = {
        .batch = batch, .window = {.left = reach_, .right = reach_}, .rotary = &local_angles};
    ResidualSum x = {embeddings_norm_(at::embedding(words_, batch.input_ids))};
    x = run_layers(layers_, x, [&](size_t layer) { return local_[layer] ? local : global; });
    return final_norm_(x);
  }

 private:
  at::Tensor words_;
  LayerNorm embeddings_norm_;
  Rotary global_rotary_;
  Rotary local_rotary_;
  std::vector<bool> local_;
  int64_t reach_;
  std::vector<ModernBertLayer> layers_;
  LayerNorm final_norm_;
};

}  // namespace

std::unique_ptr<Model> load_modernbert(const ModelSource& source) {
  const ModernBertConfig config(source, source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.tok_embeddings.weight", {"", "model."}), source};
  auto model = std::make_unique<ModernBert>(root, config, source.max_positions);
  source.weights.expect_all_taken({"head.*", "decoder.*", "classifier.*"});
  return model;
}

}  // namespace encode
