// jina-embeddings-v3 (Sturua et al. 2024): XLM-RoBERTa with rotary positions. The names of its
// tensors come from the FlashAttention library's BERT. Reference: modeling_jina_embeddings_v3.py of
// Hugging Face transformers.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

PostNormLayer load_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  const Dim hidden = config.hidden();
  return {
      .attention = {layer.linear("mixer.Wqkv", shape.query_key_value(), hidden),
                    layer.linear("mixer.out_proj", hidden, shape.query()), shape},
      .attention_norm = layer.layer_norm("norm1", hidden, config.layer_norm_eps),
      .mlp = {layer.linear("mlp.fc1", config.inner(), hidden, {.activation = config.hidden_act}),
              layer.linear("mlp.fc2", hidden, config.inner())},
      .mlp_norm = layer.layer_norm("norm2", hidden, config.layer_norm_eps)};
}

class JinaEmbeddingsV3 : public Model {
 public:
  JinaEmbeddingsV3(const ModuleLoader& root, const EncoderConfig& config, Rotary rotary)
      : embeddings_(root, config),
        rotary_(std::move(rotary)),
        layers_(root.layers("encoder.layers.", config.num_hidden_layers, load_layer, config)) {}

  // x = LayerNorm(words + segment 0); then for each layer
  //   x = LayerNorm(x + Attention(x)), queries and keys rotated by their positions
  //   x = LayerNorm(x + fc2(gelu(fc1(x))))
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    return run_layers(layers_, embeddings_(batch), {.batch = batch, .rotary = &angles});
  }

 private:
  FlashBertEmbeddings embeddings_;
  Rotary rotary_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_jina_embeddings_v3(const ModelSource& source) {
  const EncoderConfig config(source.config);
  // 20000: JinaEmbeddingsV3Config in transformers.
  const RopeParameters rope =
      parse_rope(source.config, {.head_dim = config.attention().head_dim, .default_theta = 20000});
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert.", "roberta."}), source};
  auto model = std::make_unique<JinaEmbeddingsV3>(
      root, config, Rotary(rope, source.max_positions, source.device));
  source.weights.expect_all_taken({"pooler.*", "bert.pooler.*", "roberta.pooler.*", "cls.*"});
  return model;
}

}  // namespace encode
