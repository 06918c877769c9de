// The encoder of GTE (mGTE, Zhang et al. 2024). Its model_type is "new", or "gte" in the newer
// copies of the same code (arctic-embed-m-v2.0). It is BERT with rotary positions, a gated MLP and
// fused projections. Reference: the modeling code that Alibaba publishes as Alibaba-NLP/new-impl.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

// The layer of GTE:
//   y = LayerNorm(x + Attention(x))
//   x = LayerNorm(y + down_proj(act(gate(y)) * up(y))),  (up(y), gate(y)) = up_gate_proj(y)
//   Attention(x) = o_proj softmax(q k^T / sqrt(head_dim)) v,  (q, k, v) = qkv_proj(x)
// q and k are rotated by their positions. qkv_proj, o_proj and down_proj have biases, up_gate_proj
// has none. act is hidden_act, which is gelu in the published models.
// PostNormLayer::forward() (models/layers.h) computes the first two lines: after each half it adds
// the residual, and then normalizes the sum.
using GteLayer = PostNormLayer<>;

GteLayer load_gte_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  const ModuleLoader attention = layer.scope("attention");
  const ModuleLoader mlp = layer.scope("mlp");
  const Dim hidden = config.hidden();
  return {
      .attention = {attention.linear("qkv_proj", shape.query_key_value(), hidden),
                    attention.linear("o_proj", hidden, shape.query()), shape},
      .attention_norm = layer.layer_norm("attn_ln", hidden, config.layer_norm_eps),
      .mlp = FeedForward({.gate_then_up = mlp.gate_after_up("up_gate_proj", config.inner(), hidden),
                          .down = mlp.linear("down_proj", hidden, config.inner()),
                          .gate_activation = config.hidden_act}),
      .mlp_norm = layer.layer_norm("mlp_ln", hidden, config.layer_norm_eps)};
}

class GteNew : public Model {
 public:
  GteNew(const ModuleLoader& root, const EncoderConfig& config, const ModelSource& source)
      : embeddings_(root.scope("embeddings"), config, {.width = config.hidden()}),
        rotary_(parse_rope(source.config, {.head_dim = config.attention().head_dim}),
                source.max_positions, source.device),
        layers_(root.layers("encoder.layer.", config.num_hidden_layers, load_gte_layer, config)) {}

  // x = LayerNorm(words[ids] + segments[type_ids]); x = layer(x), layer after layer.
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    const LinearInput x = embeddings_(batch);
    return run_layers(layers_, x, {.batch = batch, .rotary = &angles}).rows;
  }

 private:
  BertEmbeddings embeddings_;
  Rotary rotary_;
  std::vector<GteLayer> layers_;
};

// Throws Error "model.config" for a variant of the reference that encode does not have.
void refuse_variants(const JsonFields& json) {
  if (json.string_or("position_embedding_type", "rope") != "rope")
    json.refuse_variant("position_embedding_type", "rope");
  if (json.string_or("layer_norm_type", "layer_norm") != "layer_norm")
    json.refuse_variant("layer_norm_type", "layer_norm");
  for (const char* key : {"logn_attention_scale", "logn_attention_clip1"}) {
    if (json.boolean_or(key, false)) json.refuse_variant(key, "false");
  }
  if (!json.boolean_or("pack_qkv", true)) json.refuse_variant("pack_qkv", "true");
}

}  // namespace

std::unique_ptr<Model> load_gte_new(const ModelSource& source) {
  refuse_variants(source.config);
  const EncoderConfig config(source);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "new.", "gte."}), source};
  auto model = std::make_unique<GteNew>(root, config, source);
  source.weights.expect_all_taken(
      {"pooler.*", "new.pooler.*", "gte.pooler.*", "lm_head.*", "classifier.*", "position_ids"});
  return model;
}

}  // namespace encode
