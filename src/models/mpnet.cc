#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "nn/relative_positions.h"

namespace encode {
namespace {

// The released code ignores relative_attention_num_buckets.
constexpr int64_t kBuckets = 32;
constexpr int64_t kMaxDistance = 128;

PostNormLayer load_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  const Linear qkv = layer.fused({{"attention.attn.q", shape.query()},
                                  {"attention.attn.k", shape.key_value()},
                                  {"attention.attn.v", shape.key_value()}},
                                 config.hidden(), {});
  return {
      .attention = {qkv, layer.linear("attention.attn.o", config.hidden(), shape.query()), shape},
      .attention_norm = norm("attention.LayerNorm"),
      .mlp = {layer.linear("intermediate.dense", config.inner(), config.hidden(),
                           {.activation = config.hidden_act}),
              layer.linear("output.dense", config.hidden(), config.inner())},
      .mlp_norm = norm("output.LayerNorm")};
}

// BERT's block with T5's relative biases, one table for all layers, beside absolute positions.
class MpNet : public Model {
 public:
  MpNet(const ModuleLoader& root, const EncoderConfig& config, int64_t padding_token)
      : embeddings_(root.scope("embeddings"), config,
                    {.width = config.hidden(), .padding_token = padding_token, .segments = false}),
        relative_(
            bucket_bias(root.table("encoder.relative_attention_bias", {"32 buckets", kBuckets},
                                   {"num_attention_heads", config.num_attention_heads}),
                        kMaxDistance)) {
    for (int64_t i = 0; i < config.num_hidden_layers; ++i)
      layers_.push_back(load_layer(root.scope("encoder.layer." + std::to_string(i)), config));
  }

  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = embeddings_(batch);
    for (const PostNormLayer& layer : layers_)
      x = layer.forward(x, {.batch = batch, .relative = &relative_});
    return x;
  }

 private:
  BertEmbeddings embeddings_;
  RelativePositions relative_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_mpnet(const ModelSource& source) {
  const EncoderConfig config(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "mpnet."}), source.device};
  auto model = std::make_unique<MpNet>(root, config, padding_token_of(source.config));
  source.weights.expect_all_taken({"pooler.*", "mpnet.pooler.*", "lm_head.*", "position_ids"});
  return model;
}

}  // namespace encode
