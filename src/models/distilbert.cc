#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

PostNormLayer load_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  return {
      .attention = {layer.fused({{"attention.q_lin", shape.query()},
                                 {"attention.k_lin", shape.key_value()},
                                 {"attention.v_lin", shape.key_value()}},
                                config.hidden(), {}),
                    layer.linear("attention.out_lin", config.hidden(), shape.query()), shape},
      .attention_norm = layer.layer_norm("sa_layer_norm", config.hidden(), config.layer_norm_eps),
      .mlp = {layer.linear("ffn.lin1", config.inner(), config.hidden(),
                           {.activation = config.hidden_act}),
              layer.linear("ffn.lin2", config.hidden(), config.inner())},
      .mlp_norm = layer.layer_norm("output_layer_norm", config.hidden(), config.layer_norm_eps)};
}

// BERT with half the layers, without segments and pooler.
class DistilBert : public Model {
 public:
  DistilBert(const ModuleLoader& root, const EncoderConfig& config)
      : embeddings_(root.scope("embeddings"), config,
                    {.width = config.hidden(), .segments = false}) {
    for (int64_t i = 0; i < config.num_hidden_layers; ++i)
      layers_.push_back(load_layer(root.scope("transformer.layer." + std::to_string(i)), config));
  }

  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = embeddings_(batch);
    for (const PostNormLayer& layer : layers_) x = layer.forward(x, {.batch = batch});
    return x;
  }

 private:
  BertEmbeddings embeddings_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_distilbert(const ModelSource& source) {
  const EncoderConfig config(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "distilbert."}), source.device};
  auto model = std::make_unique<DistilBert>(root, config);
  source.weights.expect_all_taken(
      {"vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*", "position_ids"});
  return model;
}

}  // namespace encode
