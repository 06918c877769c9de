// JinaBERT, the model of jina-embeddings-v2 (Günther et al. 2023). It is BERT with a gated MLP, and
// with ALiBi instead of learned positions. Reference: the modeling code that Jina AI publishes with
// the weights.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

// The layer of Jina BERT:
//   y = LayerNorm(x + Attention(x))
//   x = LayerNorm(y + wo(act(gate) * up)),  (gate, up) = gated_layers(y)
//   Attention(x) = Wo softmax(q k^T / sqrt(head_dim) - slope of the head x |distance|) v + bo
// q, k and v are projections of x with biases. act is gelu if feed_forward_type is "geglu", and
// relu if it is "reglu".
using JinaLayer = PostNormLayer<>;

JinaLayer load_jina_layer(const ModuleLoader& layer, const EncoderConfig& config,
                          Activation activation) {
  const AttentionShape shape = config.attention();
  const ModuleLoader self = layer.scope("attention.self");
  const Dim gate_up = {"2 x intermediate_size", 2 * config.intermediate_size};
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {
      .attention = {self.fused({{"query", shape.query()},
                                {"key", shape.key_value()},
                                {"value", shape.key_value()}},
                               config.hidden(), {}),
                    layer.linear("attention.output.dense", config.hidden(), shape.query()), shape},
      .attention_norm = norm("attention.output.LayerNorm"),
      .mlp = FeedForward({.gate_then_up = layer.linear("mlp.gated_layers", gate_up, config.hidden(),
                                                       {.bias = false}),
                          .down = layer.linear("mlp.wo", config.hidden(), config.inner()),
                          .gate_activation = activation}),
      .mlp_norm = norm("mlp.layernorm")};
}

Activation gate_of(const JsonFields& json) {
  const std::string type = json.string_or("feed_forward_type", "original");
  if (type != "geglu" && type != "reglu")
    json.refuse_variant("feed_forward_type", "geglu or reglu");
  return type == "geglu" ? Activation::kGelu : Activation::kRelu;
}

class JinaBert : public Model {
 public:
  JinaBert(const ModuleLoader& root, const EncoderConfig& config, const ModelSource& source)
      : embeddings_(root.scope("embeddings"), config, {.width = config.hidden()}),
        alibi_(alibi_bias(config.num_attention_heads, source.max_positions, source.device)),
        layers_(root.layers("encoder.layer.", config.num_hidden_layers, load_jina_layer, config,
                            gate_of(source.config))) {}

  // x = LayerNorm(words[ids] + segments[type_ids]); x = layer(x), layer after layer.
  at::Tensor forward(const PackedInput& batch) const override {
    const at::Tensor x = embeddings_(batch);
    const RelativePositions alibi = for_batch(alibi_, batch, x);
    return run_layers(layers_, LinearInput(x), {.batch = batch, .relative = &alibi}).rows;
  }

 private:
  BertEmbeddings embeddings_;
  RelativePositions alibi_;
  std::vector<JinaLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_jina_bert(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert."}), source};
  if (root.has("encoder.layer.0.attention.self.layer_norm_q.weight"))
    return load_jina_bert_code(root, source);
  auto model = std::make_unique<JinaBert>(root, EncoderConfig(source), source);
  source.weights.expect_all_taken({"pooler.*", "bert.pooler.*", "cls.*", "position_ids"});
  return model;
}

}  // namespace encode
