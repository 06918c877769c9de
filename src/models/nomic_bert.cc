// NomicBERT: BERT's order with rotary positions and a gated MLP (Nussbaum et al. 2024), or with a
// mixture of experts in every second layer (Nussbaum & Duderstadt 2025). The names of its tensors
// come from the FlashAttention library's BERT. References: modeling_nomic_bert.py of Hugging Face
// transformers and, for the mixture of experts, the code that its makers publish.
#include <variant>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "models/mixture_of_experts.h"

namespace encode {
namespace {

struct NomicConfig : EncoderConfig {
  bool bias;            // of every projection
  bool gated;           // the MLP
  int64_t num_experts;  // in the layers that have a router; 0: no layer has one
  int64_t moe_top_k;

  explicit NomicConfig(const JsonFields& json);
};

using ExpertsLayer = PostNorm<MixtureOfExperts>;

struct Layer {
  std::variant<PostNormLayer, ExpertsLayer> kind;

  at::Tensor forward(const at::Tensor& x, const LayerContext& context) const {
    return std::visit([&](const auto& layer) { return layer.forward(x, context); }, kind);
  }
};

FeedForward load_mlp(const ModuleLoader& mlp, const NomicConfig& config) {
  const Dim inner = config.inner();
  const Dim hidden = config.hidden();
  if (!config.gated) {
    return {
        mlp.linear("fc1", inner, hidden, {.bias = config.bias, .activation = config.hidden_act}),
        mlp.linear("fc2", hidden, inner, {.bias = config.bias})};
  }
  // fc12 is the gate: fc2(fc11(x) * silu(fc12(x))).
  const LinearOptions options = {.bias = config.bias};
  return FeedForward::gated(mlp.fused({{"fc12", inner}, {"fc11", inner}}, hidden, options),
                            mlp.linear("fc2", hidden, inner, options), config.hidden_act);
}

Layer load_layer(const ModuleLoader& layer, const NomicConfig& config) {
  const AttentionShape shape = config.attention();
  const ModuleLoader scope = layer.scope("attn");
  const ModuleLoader mlp = layer.scope("mlp");
  const LinearOptions options = {.bias = config.bias};
  SelfAttention attention(scope.linear("Wqkv", shape.query_key_value(), shape.hidden(), options),
                          scope.linear("out_proj", shape.hidden(), shape.query(), options), shape);
  LayerNorm attention_norm = layer.layer_norm("norm1", shape.hidden(), config.layer_norm_eps);
  LayerNorm mlp_norm = layer.layer_norm("norm2", shape.hidden(), config.layer_norm_eps);
  if (config.num_experts > 0 && mlp.has("router.layer.weight")) {
    const ExpertsShape experts = {.hidden = config.hidden(),
                                  .inner = config.inner(),
                                  .num_experts = config.num_experts,
                                  .top_k = config.moe_top_k,
                                  .activation = config.hidden_act};
    return {ExpertsLayer{.attention = std::move(attention),
                         .attention_norm = std::move(attention_norm),
                         .mlp = MixtureOfExperts(mlp, experts),
                         .mlp_norm = std::move(mlp_norm)}};
  }
  return {PostNormLayer{.attention = std::move(attention),
                        .attention_norm = std::move(attention_norm),
                        .mlp = load_mlp(mlp, config),
                        .mlp_norm = std::move(mlp_norm)}};
}

class NomicBert : public Model {
 public:
  NomicBert(const ModuleLoader& root, const NomicConfig& config, Rotary rotary)
      : embeddings_(root, config),
        rotary_(std::move(rotary)),
        layers_(root.layers("encoder.layers.", config.num_hidden_layers, load_layer, config)) {}

  // x = LayerNorm(words + segment 0); for each layer
  //   x = LayerNorm(x + Attention(x)), queries and keys rotated by their positions
  //   x = LayerNorm(x + fc2(fc11(x) * silu(fc12(x)))), or LayerNorm(x + MoE(x))
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    return run_layers(layers_, embeddings_(batch), {.batch = batch, .rotary = &angles});
  }

 private:
  FlashBertEmbeddings embeddings_;
  Rotary rotary_;
  std::vector<Layer> layers_;
};

// The config.json of the makers has GPT-2's names and switches for what they tried; the config.json
// of transformers has BERT's names and no such switch.
void refuse_variants(const JsonFields& json) {
  for (const char* key : {"prenorm", "parallel_block", "use_rms_norm", "rotary_emb_interleaved",
                          "causal", "expert_choice_router", "moe_normalize_expert_weights"}) {
    if (json.boolean_or(key, false)) json.refuse(key, "false", "true");
  }
  if (json.number_or("rotary_emb_fraction", 1, 0, 1) != 1)
    json.refuse("rotary_emb_fraction", "1: whole heads are rotated", "less");
  if (json.has("rotary_scaling_factor")) json.refuse("rotary_scaling_factor", "absent", "set");
  if (json.integer_or("num_shared_experts", 0, 0, kMaxExperts) > 0)
    json.refuse("num_shared_experts", "0", "more");
  const bool bias = json.boolean_or("qkv_proj_bias", false);
  for (const char* key : {"mlp_fc1_bias", "mlp_fc2_bias"}) {
    if (json.boolean_or(key, bias) != bias)
      json.refuse(key, "the value of qkv_proj_bias", bias ? "false" : "true");
  }
}

// transformers' NomicBERT is always gated. The makers' model is gated if activation_function ends
// in "glu".
bool is_gated(const JsonFields& json) {
  return json.string_or("activation_function", "swiglu").ends_with("glu");
}

Activation nomic_activation(const JsonFields& json) {
  if (json.has("hidden_act")) return parse_activation(json, "hidden_act");
  const std::string name = json.string_or("activation_function", "swiglu");
  if (name == "swiglu") return Activation::kSilu;
  return name == "geglu" ? Activation::kGelu : parse_activation(json, "activation_function");
}

NomicConfig::NomicConfig(const JsonFields& json)
    : EncoderConfig(json),
      bias(json.boolean_or("qkv_proj_bias", false)),
      gated(is_gated(json)),
      num_experts(json.integer_or("num_experts", 0, 0, kMaxExperts)),
      moe_top_k(json.integer_or("moe_top_k", 1, 1, kMaxExperts)) {
  hidden_act = nomic_activation(json);
}

}  // namespace

std::unique_ptr<Model> load_nomic_bert(const ModelSource& source) {
  const JsonFields& json = source.config;
  refuse_variants(json);
  const NomicConfig config(json);
  // 1000: NomicBertConfig in transformers. The makers call the field rotary_emb_base.
  const RopeParameters rope = parse_rope(
      json, {.head_dim = config.attention().head_dim,
             .default_theta = 1000,
             .theta_key = json.has("rotary_emb_base") ? "rotary_emb_base" : "rope_theta"});
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert.", "roberta."}), source};
  auto model =
      std::make_unique<NomicBert>(root, config, Rotary(rope, source.max_positions, source.device));
  source.weights.expect_all_taken({"pooler.*", "bert.pooler.*", "roberta.pooler.*", "cls.*"});
  return model;
}

}  // namespace encode
