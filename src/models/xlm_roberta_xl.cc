// XLM-RoBERTa XL (Goyal et al. 2021). It is RoBERTa with a norm before each half of a layer and
// after the last layer, but without a norm of the embeddings. Reference: modeling_xlm_roberta_xl.py
// of Hugging Face transformers.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

// The layer of XLM-RoBERTa XL:
//   y = x + Attention(LayerNorm(x))
//   x = y + MLP(LayerNorm(y)),  MLP(z) = W2 act(W1 z + b1) + b2
//   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v + bo
// q, k and v are projections of z with biases. act is hidden_act, which is gelu in the paper.
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using XlLayer = PreNormLayer<LayerNorm>;

XlLayer load_xl_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  const Dim hidden = config.hidden();
  const ModuleLoader attention = layer.scope("attention");
  return {
      .attention_norm = attention.layer_norm("self_attn_layer_norm", hidden, config.layer_norm_eps),
      .attention = {attention.fused({{"self.query", shape.query()},
                                     {"self.key", shape.key_value()},
                                     {"self.value", shape.key_value()}},
                                    hidden, {}),
                    attention.linear("output.dense", hidden, shape.query()), shape},
      .mlp_norm = layer.layer_norm("LayerNorm", hidden, config.layer_norm_eps),
      .mlp = {layer.linear("intermediate.dense", config.inner(), hidden,
                           {.activation = config.hidden_act}),
              layer.linear("output.dense", hidden, config.inner())}};
}

class XlmRobertaXl : public Model {
 public:
  XlmRobertaXl(const ModuleLoader& root, const EncoderConfig& config, int64_t padding_token)
      : embeddings_(root.scope("embeddings"), config,
                    {.width = config.hidden(), .padding_token = padding_token, .norm = false}),
        layers_(root.layers("encoder.layer.", config.num_hidden_layers, load_xl_layer, config)),
        norm_(root.layer_norm("encoder.LayerNorm", config.hidden(), config.layer_norm_eps)) {}

  // x = words + segments + positions; x = layer(x), layer after layer; the result is LayerNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    ResidualSum x = run_layers(layers_, ResidualSum{embeddings_(batch)}, {.batch = batch});
    return norm_(x);
  }

 private:
  BertEmbeddings embeddings_;
  std::vector<XlLayer> layers_;
  LayerNorm norm_;
};

}  // namespace

std::unique_ptr<Model> load_xlm_roberta_xl(const ModelSource& source) {
  // 1e-5 is the default of XLMRobertaXLConfig in transformers.
  const EncoderConfig config(source, {.layer_norm_eps = 1e-5});
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "roberta."}), source};
  auto model = std::make_unique<XlmRobertaXl>(root, config, padding_token_of(source.config));
  source.weights.expect_all_taken({"pooler.*", "roberta.pooler.*", "lm_head.*", "position_ids"});
  return model;
}

}  // namespace encode
