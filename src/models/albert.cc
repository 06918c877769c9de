// ALBERT (Lan et al. 2020): BERT's layer with narrow embeddings, the same few layers over and over.
// Reference: modeling_albert.py of Hugging Face transformers.
#include <fmt/format.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/bert_layers.h"

namespace encode {
namespace {

constexpr BertLayerNames kNames = {.query = "attention.query",
                                   .key = "attention.key",
                                   .value = "attention.value",
                                   .attention_out = "attention.dense",
                                   .attention_norm = "attention.LayerNorm",
                                   .mlp_up = "ffn",
                                   .mlp_down = "ffn_output",
                                   .mlp_norm = "full_layer_layer_norm"};

// num_hidden_layers steps through num_hidden_groups groups of inner_group_num layers: each group
// serves a run of consecutive steps. Copies of a layer share its weights.
std::vector<PostNormLayer> load_layers(const ModuleLoader& encoder, const EncoderConfig& config,
                                       const JsonFields& json) {
  const int64_t steps = config.num_hidden_layers;
  const int64_t groups = json.integer_or("num_hidden_groups", 1, 1, steps);
  const int64_t group_layers = json.integer_or("inner_group_num", 1, 1, kMaxLayers);
  std::vector<std::vector<PostNormLayer>> stored;
  for (int64_t group = 0; group < groups; ++group) {
    const ModuleLoader scope = encoder.scope(fmt::format("albert_layer_groups.{}", group));
    stored.push_back(scope.layers("albert_layers.", group_layers, load_bert_layer, config, kNames));
  }
  std::vector<PostNormLayer> layers;
  for (int64_t step = 0; step < steps; ++step) {
    const auto& group = stored[static_cast<size_t>(step * groups / steps)];
    layers.insert(layers.end(), group.begin(), group.end());
  }
  return layers;
}

class Albert : public Model {
 public:
  Albert(const ModuleLoader& root, const EncoderConfig& config, const JsonFields& json)
      : width_{"embedding_size", json.integer("embedding_size", 1, kMaxHiddenSize)},
        embeddings_(root.scope("embeddings"), config, {.width = width_}),
        project_(root.linear("encoder.embedding_hidden_mapping_in", config.hidden(), width_)),
        layers_(load_layers(root.scope("encoder"), config, json)) {}

  // x = W LayerNorm(words + segment 0 + positions) + b; then the shared layers.
  at::Tensor forward(const PackedInput& batch) const override {
    return run_layers(layers_, project_(embeddings_(batch)), {.batch = batch});
  }

 private:
  Dim width_;  // of the embeddings
  BertEmbeddings embeddings_;
  Linear project_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_albert(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "albert."}), source};
  auto model = std::make_unique<Albert>(root, EncoderConfig(source.config), source.config);
  source.weights.expect_all_taken(
      {"pooler.*", "albert.pooler.*", "predictions.*", "sop_classifier.*", "position_ids"});
  return model;
}

}  // namespace encode
