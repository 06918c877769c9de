// BERT and the models that share its block and its checkpoint's names: RoBERTa, XLM-RoBERTa,
// CamemBERT, ELECTRA.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

PostNormLayer load_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  return {
      .attention = {layer.fused({{"attention.self.query", shape.query()},
                                 {"attention.self.key", shape.key_value()},
                                 {"attention.self.value", shape.key_value()}},
                                config.hidden(), {}),
                    layer.linear("attention.output.dense", config.hidden(), shape.query()), shape},
      .attention_norm =
          layer.layer_norm("attention.output.LayerNorm", config.hidden(), config.layer_norm_eps),
      .mlp = {layer.linear("intermediate.dense", config.inner(), config.hidden(),
                           {.activation = config.hidden_act}),
              layer.linear("output.dense", config.hidden(), config.inner())},
      .mlp_norm = layer.layer_norm("output.LayerNorm", config.hidden(), config.layer_norm_eps)};
}

class Bert : public Model {
 public:
  Bert(const ModuleLoader& root, const EncoderConfig& config, const BertEmbeddingsOptions& options)
      : embeddings_(root.scope("embeddings"), config, options) {
    // ELECTRA's embeddings may be narrower than its layers.
    if (options.width.size != config.hidden_size)
      projection_ = root.linear("embeddings_project", config.hidden(), options.width);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i)
      layers_.push_back(load_layer(root.scope("encoder.layer." + std::to_string(i)), config));
  }

  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = embeddings_(batch);
    if (projection_) x = (*projection_)(x);
    const LayerContext context = {.batch = batch};
    for (const PostNormLayer& layer : layers_)
      x = layer.forward(x, &layer == &layers_.back() ? last_layer(context) : context);
    return x;
  }

  bool selects_rows() const override { return true; }

 private:
  BertEmbeddings embeddings_;
  std::optional<Linear> projection_;
  std::vector<PostNormLayer> layers_;
};

std::unique_ptr<Model> load(const ModelSource& source, const std::string& prefix,
                            const BertEmbeddingsOptions& options) {
  const EncoderConfig config(source.config);
  const std::string positions = source.config.string_or("position_embedding_type", "absolute");
  if (positions != "absolute")
    source.config.refuse("position_embedding_type", "absolute", "'" + positions + "'");
  const ModuleLoader root = {source.weights.root("embeddings.word_embeddings.weight", {"", prefix}),
                             source.device};
  auto model = std::make_unique<Bert>(root, config, options);
  // The pooler and the heads of pre-training are not part of an embedding.
  source.weights.expect_all_taken({"pooler.*", prefix + "pooler.*", "cls.*", "lm_head.*",
                                   "discriminator_predictions.*", "generator_predictions.*",
                                   "generator_lm_head.*", "classifier.*",
                                   "embeddings.position_ids"});
  return model;
}

}  // namespace

std::unique_ptr<Model> load_bert(const ModelSource& source) {
  if (source.config.string_or("position_embedding_type", "absolute") == "alibi")
    return load_jina_bert(source);
  return load(source, "bert.", {.width = EncoderConfig(source.config).hidden()});
}

std::unique_ptr<Model> load_roberta(const ModelSource& source) {
  return load(source, "roberta.",
              {.width = EncoderConfig(source.config).hidden(),
               .padding_token = padding_token_of(source.config)});
}

std::unique_ptr<Model> load_electra(const ModelSource& source) {
  return load(source, "electra.",
              {.width = {"embedding_size", source.config.integer("embedding_size", 1, 16384)}});
}

}  // namespace encode
