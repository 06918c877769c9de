// RoBERTa (Liu et al. 2019), and CamemBERT and XLM-RoBERTa, which are RoBERTa with other
// vocabularies. Reference: modeling_roberta.py of Hugging Face transformers.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/bert_layers.h"

namespace encode {
namespace {

class Roberta : public Model {
 public:
  Roberta(const ModuleLoader& root, const EncoderConfig& config, int64_t padding_token)
      : embeddings_(root.scope("embeddings"), config,
                    {.width = config.hidden(), .padding_token = padding_token}),
        layers_(load_bert_layers(root, "encoder.layer.", config, kBertLayerNames)) {}

  // BERT with positions that are counted from behind the padding token's id.
  at::Tensor forward(const PackedInput& batch) const override {
    return run_layers(layers_, embeddings_(batch), {.batch = batch});
  }

 private:
  BertEmbeddings embeddings_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_roberta(const ModelSource& source) {
  require_absolute_positions(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "roberta."}), source};
  auto model = std::make_unique<Roberta>(root, EncoderConfig(source.config),
                                         padding_token_of(source.config));
  source.weights.expect_all_taken(bert_leftovers("roberta."));
  return model;
}

}  // namespace encode
