// DistilBERT (Sanh et al. 2019): BERT with half the layers, without segments and pooler. Reference:
// modeling_distilbert.py of Hugging Face transformers.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/bert_layers.h"

namespace encode {
namespace {

constexpr BertLayerNames kNames = {.query = "attention.q_lin",
                                   .key = "attention.k_lin",
                                   .value = "attention.v_lin",
                                   .attention_out = "attention.out_lin",
                                   .attention_norm = "sa_layer_norm",
                                   .mlp_up = "ffn.lin1",
                                   .mlp_down = "ffn.lin2",
                                   .mlp_norm = "output_layer_norm"};

class DistilBert : public Model {
 public:
  DistilBert(const ModuleLoader& root, const EncoderConfig& config)
      : embeddings_(root.scope("embeddings"), config,
                    {.width = config.hidden(), .segments = false}),
        layers_(load_bert_layers(root, "transformer.layer.", config, kNames)) {}

  // x = LayerNorm(words + positions); then BERT's layers.
  at::Tensor forward(const PackedInput& batch) const override {
    return run_layers(layers_, embeddings_(batch), {.batch = batch});
  }

 private:
  BertEmbeddings embeddings_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_distilbert(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "distilbert."}), source};
  auto model = std::make_unique<DistilBert>(root, EncoderConfig(source.config));
  source.weights.expect_all_taken(
      {"vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*", "position_ids"});
  return model;
}

}  // namespace encode
