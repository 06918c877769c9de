// BERT (Devlin et al. 2019). Reference: modeling_bert.py of Hugging Face transformers.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/bert_layers.h"

namespace encode {
namespace {

class Bert : public Model {
 public:
  Bert(const ModuleLoader& root, const EncoderConfig& config)
      : embeddings_(root.scope("embeddings"), config, {.width = config.hidden()}),
        layers_(load_bert_layers(root, "encoder.layer.", config, kBertLayerNames)) {}

  // The input representation (figure 2 of the paper) is the sum of three embeddings:
  //   x = LayerNorm(words[ids] + segments[0] + positions[0, 1, ...])
  // Then comes one layer after the other, each a Transformer encoder's (Vaswani et al. 2017):
  //   x = LayerNorm(x + MultiHeadAttention(x))
  //   x = LayerNorm(x + W2 gelu(W1 x + b1) + b2)
  // The last x is last_hidden_state. last_layer() limits it to the tokens that pooling reads.
  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = embeddings_(batch);
    for (size_t i = 0; i + 1 < layers_.size(); ++i) x = layers_[i].forward(x, {.batch = batch});
    return layers_.back().forward(x, last_layer({.batch = batch}));
  }

 private:
  BertEmbeddings embeddings_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_bert(const ModelSource& source) {
  if (source.config.string_or("position_embedding_type", "absolute") == "alibi")
    return load_jina_bert(source);
  require_absolute_positions(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert."}), source};
  auto model = std::make_unique<Bert>(root, EncoderConfig(source.config));
  source.weights.expect_all_taken(bert_leftovers("bert."));
  return model;
}

}  // namespace encode
