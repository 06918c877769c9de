// NomicBERT and jina-embeddings-v3, which are BERT with rotary positions. Their tensors have the
// names of BERT in the FlashAttention library. These are the differences:
//
//   NomicBERT            Nussbaum et al. 2024. The MLP is gated, and biases are an option. In every
//                        second layer it may be a mixture of experts (Nussbaum & Duderstadt 2025).
//   jina-embeddings-v3   Sturua et al. 2024. The MLP is plain, and every projection has a bias.
//
// References: modeling_nomic_bert.py and modeling_jina_embeddings_v3.py of Hugging Face
// transformers, and for the mixture of experts the modeling code that Nomic publishes.
#include <variant>

#include <ATen/ops/embedding.h>

#include "model_dir/extra_weights.h"
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/config_fields.h"
#include "models/layers.h"
#include "models/mixture_of_experts.h"

namespace encode {
namespace {

// The defaults are the values of jina-embeddings-v3.
struct RotaryBertConfig : EncoderConfig {
  const char* attention_scope = "mixer";
  bool bias = true;  // of every projection
  NomicExperts experts = {.count = 0, .top_k = 1};

  explicit RotaryBertConfig(const ModelSource& source, const EncoderDefaults& defaults = {})
      : EncoderConfig(source, defaults) {}
};

// The layer, where Mlp is FeedForward or MixtureOfExperts:
//   y = LayerNorm(x + Attention(x))
//   x = LayerNorm(y + MLP(y))
//   Attention(x) = out_proj softmax(q k^T / sqrt(head_dim)) v,  (q, k, v) = Wqkv x
//   MLP(y) = fc2(act(fc1(y))), or in the gated form fc2(fc11(y) * act(fc12(y)))
// q and k are rotated by their positions. If config.json names no activation, act is gelu, or silu
// in the gated form. mixture_of_experts.h states MLP(y) for a layer with experts.
// PostNormLayer::forward() (models/layers.h) computes the first two lines: after each half it adds
// the residual, and then normalizes the sum.
template <typename Mlp>
using LayerOf = PostNormLayer<SelfAttention, Mlp>;

struct Layer {
  std::variant<LayerOf<FeedForward>, LayerOf<MixtureOfExperts>> kind;

  LinearInput forward(const LinearInput& x, const LayerContext& context) const {
    return std::visit([&](const auto& layer) { return layer.forward(x, context); }, kind);
  }
};

FeedForward load_mlp(const ModuleLoader& mlp, const RotaryBertConfig& config) {
  const Dim inner = config.inner();
  const Dim hidden = config.hidden();
  Linear down = mlp.linear("fc2", hidden, inner, {.bias = config.bias});
  if (config.gated) {
    return FeedForward({.gate_then_up = mlp.fused({{"fc12", inner}, {"fc11", inner}}, hidden,
                                                  {.bias = config.bias}),
                        .down = std::move(down),
                        .gate_activation = config.hidden_act});
  }
  return {mlp.linear("fc1", inner, hidden, {.bias = config.bias, .activation = config.hidden_act}),
          std::move(down)};
}

Layer load_nomic_layer(const ModuleLoader& layer, const RotaryBertConfig& config) {
  const AttentionShape shape = config.attention();
  const ModuleLoader scope = layer.scope(config.attention_scope);
  const ModuleLoader mlp = layer.scope("mlp");
  const LinearOptions options = {.bias = config.bias};
  SelfAttention attention(scope.linear("Wqkv", shape.query_key_value(), shape.hidden(), options),
                          scope.linear("out_proj", shape.hidden(), shape.query(), options), shape);
  LayerNorm attention_norm = layer.layer_norm("norm1", shape.hidden(), config.layer_norm_eps);
  LayerNorm mlp_norm = layer.layer_norm("norm2", shape.hidden(), config.layer_norm_eps);
  if (config.experts.count > 0 && mlp.has("router.layer.weight")) {
    const ExpertsShape experts = {.hidden = config.hidden(),
                                  .inner = config.inner(),
                                  .num_experts = config.experts.count,
                                  .top_k = config.experts.top_k,
                                  .activation = config.hidden_act};
    return {LayerOf<MixtureOfExperts>{.attention = std::move(attention),
                                      .attention_norm = std::move(attention_norm),
                                      .mlp = load_megablocks(mlp, experts),
                                      .mlp_norm = std::move(mlp_norm)}};
  }
  return {LayerOf<FeedForward>{.attention = std::move(attention),
                               .attention_norm = std::move(attention_norm),
                               .mlp = load_mlp(mlp, config),
                               .mlp_norm = std::move(mlp_norm)}};
}

class RotaryBert : public Model {
 public:
  RotaryBert(const ModuleLoader& root, const RotaryBertConfig& config, Rotary rotary)
      : words_(root.table("embeddings.word_embeddings", {"vocab_size", config.vocab_size},
                          config.hidden())),
        norm_(root.layer_norm("emb_ln", config.hidden(), config.layer_norm_eps)),
        rotary_(std::move(rotary)),
        layers_(
            root.layers("encoder.layers.", config.num_hidden_layers, load_nomic_layer, config)) {
    if (config.type_vocab_size == 0) return;
    segments_ = Segments(root.table("embeddings.token_type_embeddings",
                                    {"type_vocab_size", config.type_vocab_size}, config.hidden()),
                         root.origin());
  }

  // x = LayerNorm(words[ids] + segments[type_ids]); x = layer(x), layer after layer.
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    at::Tensor x = at::embedding(words_, batch.input_ids);
    if (segments_.defined()) x.add_(segments_.of(batch));
    return run_layers(layers_, LinearInput(norm_(x)), {.batch = batch, .rotary = &angles}).rows;
  }

 private:
  at::Tensor words_;  // [vocab_size, hidden_size]
  Segments segments_;
  LayerNorm norm_;
  Rotary rotary_;
  std::vector<Layer> layers_;
};

std::unique_ptr<Model> load(const ModelSource& source, const RotaryBertConfig& config,
                            const RopeParameters& rope) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert.", "roberta."}), source};
  auto model =
      std::make_unique<RotaryBert>(root, config, Rotary(rope, source.max_positions, source.device));
  source.weights.expect_all_taken({"pooler.*", "bert.pooler.*", "roberta.pooler.*", "cls.*"});
  return model;
}

// Throws Error "model.config" for a variant that encode does not have. A config.json that Nomic
// publishes has the names of GPT-2, and switches for such variants. A config.json that transformers
// saves has the names of BERT and no such switch.
void refuse_nomic_variants(const JsonFields& json) {
  for (const char* key : {"prenorm", "parallel_block", "use_rms_norm", "rotary_emb_interleaved",
                          "causal", "expert_choice_router", "moe_normalize_expert_weights"}) {
    if (json.boolean_or(key, false)) json.refuse_variant(key, "false");
  }
  if (json.number_or("rotary_emb_fraction", 1, 0, 1) != 1)
    json.refuse_variant("rotary_emb_fraction", "1: whole heads are rotated");
  if (json.has("rotary_scaling_factor"))
    json.refuse_variant("rotary_scaling_factor", "null, or no such field");
  if (json.integer_or("num_shared_experts", 0, 0, kMaxExperts) > 0)
    json.refuse_variant("num_shared_experts", "0");
  const bool bias = json.boolean_or("qkv_proj_bias", false);
  for (const char* key : {"mlp_fc1_bias", "mlp_fc2_bias"}) {
    if (json.boolean_or(key, bias) != bias)
      json.refuse_variant(key, bias ? "true, as qkv_proj_bias" : "false, as qkv_proj_bias");
  }
}

Activation nomic_activation(const JsonFields& json) {
  if (json.has("hidden_act")) return parse_activation(json, "hidden_act");
  const std::string name = json.string_or("activation_function", "swiglu");
  if (name == "swiglu") return Activation::kSilu;
  return name == "geglu" ? Activation::kGelu : parse_activation(json, "activation_function");
}

}  // namespace

std::unique_ptr<Model> load_nomic_bert(const ModelSource& source) {
  const JsonFields& json = source.config;
  refuse_nomic_variants(json);
  RotaryBertConfig config(source);
  config.attention_scope = "attn";
  config.bias = json.boolean_or("qkv_proj_bias", false);
  config.experts = nomic_experts(json);
  config.hidden_act = nomic_activation(json);
  // 1000 is the default of NomicBertConfig in transformers. In a config.json that Nomic publishes,
  // the base is rotary_emb_base.
  const RopeParameters rope = parse_rope(
      json, {.head_dim = config.attention().head_dim,
             .default_theta = 1000,
             .theta_key = json.has("rotary_emb_base") ? "rotary_emb_base" : "rope_theta"});
  return load(source, config, rope);
}

std::unique_ptr<Model> load_jina_embeddings_v3(const ModelSource& source) {
  // The defaults are from JinaEmbeddingsV3Config in transformers.
  const RotaryBertConfig config(source, {.layer_norm_eps = 1e-5});
  const RopeParameters rope =
      parse_rope(source.config, {.head_dim = config.attention().head_dim, .default_theta = 20000});
  return load(source, config, rope);
}

}  // namespace encode
