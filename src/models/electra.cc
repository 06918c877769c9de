// ELECTRA's discriminator (Clark et al. 2020): BERT with embeddings that may be narrower than the
// layers. Reference: modeling_electra.py of Hugging Face transformers.
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/bert_layers.h"

namespace encode {
namespace {

class Electra : public Model {
 public:
  Electra(const ModuleLoader& root, const EncoderConfig& config, const Dim& embedding_size)
      : embeddings_(root.scope("embeddings"), config, {.width = embedding_size}),
        layers_(load_bert_layers(root, "encoder.layer.", config, kBertLayerNames)) {
    if (embedding_size.size != config.hidden_size)
      project_ = root.linear("embeddings_project", config.hidden(), embedding_size);
  }

  // x = W embeddings(ids) + b, if the widths differ; then BERT's layers.
  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = embeddings_(batch);
    if (project_) x = (*project_)(x);
    return run_layers(layers_, x, {.batch = batch});
  }

 private:
  BertEmbeddings embeddings_;
  std::optional<Linear> project_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_electra(const ModelSource& source) {
  const JsonFields& json = source.config;
  require_absolute_positions(json);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "electra."}), source};
  const Dim embedding_size = {"embedding_size", json.integer("embedding_size", 1, kMaxHiddenSize)};
  auto model = std::make_unique<Electra>(root, EncoderConfig(json), embedding_size);
  source.weights.expect_all_taken(bert_leftovers("electra."));
  return model;
}

}  // namespace encode
