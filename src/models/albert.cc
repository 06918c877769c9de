#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

PostNormLayer load_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {.attention = {layer.fused({{"attention.query", shape.query()},
                                     {"attention.key", shape.key_value()},
                                     {"attention.value", shape.key_value()}},
                                    config.hidden(), {}),
                        layer.linear("attention.dense", config.hidden(), shape.query()), shape},
          .attention_norm = norm("attention.LayerNorm"),
          .mlp = {layer.linear("ffn", config.inner(), config.hidden(),
                               {.activation = config.hidden_act}),
                  layer.linear("ffn_output", config.hidden(), config.inner())},
          .mlp_norm = norm("full_layer_layer_norm")};
}

// The same few layers over and over: num_hidden_groups groups of inner_group_num layers, a group
// for each run of consecutive steps.
class Albert : public Model {
 public:
  Albert(const ModuleLoader& root, const EncoderConfig& config, const JsonFields& json)
      : steps_(config.num_hidden_layers),
        groups_(json.integer_or("num_hidden_groups", 1, 1, config.num_hidden_layers)),
        group_layers_(json.integer_or("inner_group_num", 1, 1, 64)),
        embeddings_(root.scope("embeddings"), config, {.width = width(json)}),
        projection_(
            root.linear("encoder.embedding_hidden_mapping_in", config.hidden(), width(json))) {
    for (int64_t group = 0; group < groups_; ++group) {
      for (int64_t i = 0; i < group_layers_; ++i) {
        layers_.push_back(
            load_layer(root.scope("encoder.albert_layer_groups." + std::to_string(group) +
                                  ".albert_layers." + std::to_string(i)),
                       config));
      }
    }
  }

  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = projection_(embeddings_(batch));
    const LayerContext context = {.batch = batch};
    const int64_t count = steps_ * group_layers_;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t group = i / group_layers_ * groups_ / steps_;
      const auto layer = static_cast<size_t>(group * group_layers_ + i % group_layers_);
      x = layers_[layer].forward(x, i + 1 == count ? last_layer(context) : context);
    }
    return x;
  }

 private:
  static Dim width(const JsonFields& json) {
    return {"embedding_size", json.integer("embedding_size", 1, 16384)};
  }

  int64_t steps_;
  int64_t groups_;
  int64_t group_layers_;
  BertEmbeddings embeddings_;
  Linear projection_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_albert(const ModelSource& source) {
  const EncoderConfig config(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "albert."}), source.device};
  auto model = std::make_unique<Albert>(root, config, source.config);
  source.weights.expect_all_taken(
      {"pooler.*", "albert.pooler.*", "predictions.*", "sop_classifier.*", "position_ids"});
  return model;
}

}  // namespace encode
