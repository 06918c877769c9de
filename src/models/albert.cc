#include "models/architectures.h"
#include "models/post_norm_encoder.h"

namespace encode {
namespace {

constexpr PostNormNames kNames = {.query = "attention.query",
                                  .key = "attention.key",
                                  .value = "attention.value",
                                  .attention_out = "attention.dense",
                                  .attention_norm = "attention.LayerNorm",
                                  .mlp_up = "ffn",
                                  .mlp_down = "ffn_output",
                                  .mlp_norm = "full_layer_layer_norm"};

// The same few layers over and over: num_hidden_groups groups of inner_group_num layers, a group
// for each run of consecutive steps. Copies of a layer share its weights.
std::vector<PostNormLayer> load_layers(const ModuleLoader& encoder, const EncoderConfig& config,
                                       const JsonFields& json) {
  const int64_t steps = config.num_hidden_layers;
  const int64_t groups = json.integer_or("num_hidden_groups", 1, 1, steps);
  const int64_t group_layers = json.integer_or("inner_group_num", 1, 1, 64);
  std::vector<std::vector<PostNormLayer>> stored;
  for (int64_t group = 0; group < groups; ++group) {
    const ModuleLoader scope = encoder.scope("albert_layer_groups." + std::to_string(group));
    stored.push_back(
        scope.layers("albert_layers.", group_layers, load_post_norm_layer, config, kNames));
  }
  std::vector<PostNormLayer> layers;
  for (int64_t step = 0; step < steps; ++step) {
    const auto& group = stored[static_cast<size_t>(step * groups / steps)];
    layers.insert(layers.end(), group.begin(), group.end());
  }
  return layers;
}

}  // namespace

std::unique_ptr<Model> load_albert(const ModelSource& source) {
  const EncoderConfig config(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "albert."}), source};
  const Dim width = {"embedding_size", source.config.integer("embedding_size", 1, 16384)};
  const ModuleLoader encoder = root.scope("encoder");
  auto model = std::make_unique<PostNormEncoder>(PostNormEncoder::Parts{
      .embeddings = BertEmbeddings(root.scope("embeddings"), config, {.width = width}),
      .projection = encoder.linear("embedding_hidden_mapping_in", config.hidden(), width),
      .layers = load_layers(encoder, config, source.config)});
  source.weights.expect_all_taken(
      {"pooler.*", "albert.pooler.*", "predictions.*", "sop_classifier.*", "position_ids"});
  return model;
}

}  // namespace encode
