// JinaBERT, jina-embeddings-v2 (Günther et al. 2023): BERT with ALiBi in place of learned positions
// and a gated MLP. Reference: the modelling code that its makers publish beside the weights.
#include "models/architectures.h"
#include "models/post_norm_encoder.h"

namespace encode {
namespace {

PostNormLayer load_layer(const ModuleLoader& layer, const EncoderConfig& config,
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
      .mlp = FeedForward::gated(
          layer.linear("mlp.gated_layers", gate_up, config.hidden(), {.bias = false}),
          layer.linear("mlp.wo", config.hidden(), config.inner()), activation),
      .mlp_norm = norm("mlp.layernorm")};
}

Activation gate_of(const JsonFields& json) {
  const std::string type = json.string_or("feed_forward_type", "original");
  if (type != "geglu" && type != "reglu")
    json.refuse("feed_forward_type", "geglu or reglu", "'" + type + "'");
  return type == "geglu" ? Activation::kGelu : Activation::kRelu;
}

PostNormEncoder::Parts load_parts(const ModuleLoader& root, const ModelSource& source) {
  const EncoderConfig config(source.config);
  return {.embeddings = BertEmbeddings(root.scope("embeddings"), config,
                                       {.width = config.hidden(), .positions = false}),
          .relative = alibi_bias(config.num_attention_heads, source.max_positions, source.device),
          .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_layer, config,
                                gate_of(source.config))};
}

}  // namespace

std::unique_ptr<Model> load_jina_bert(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert."}), source};
  auto model = std::make_unique<PostNormEncoder>(load_parts(root, source));
  source.weights.expect_all_taken({"pooler.*", "bert.pooler.*", "cls.*", "position_ids"});
  return model;
}

}  // namespace encode
