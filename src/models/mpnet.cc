// MPNet (Song et al. 2020): BERT's layer with T5's relative biases, one table for all layers,
// beside learned positions. Reference: modeling_mpnet.py of Hugging Face transformers.
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/bert_layers.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

// The reference has these numbers in its code and ignores relative_attention_num_buckets.
constexpr int64_t kBuckets = 32;
constexpr int64_t kMaxDistance = 128;

constexpr BertLayerNames kNames = {.query = "attention.attn.q",
                                   .key = "attention.attn.k",
                                   .value = "attention.attn.v",
                                   .attention_out = "attention.attn.o",
                                   .attention_norm = "attention.LayerNorm",
                                   .mlp_up = "intermediate.dense",
                                   .mlp_down = "output.dense",
                                   .mlp_norm = "output.LayerNorm"};

class MpNet : public Model {
 public:
  MpNet(const ModuleLoader& root, const EncoderConfig& config, int64_t padding_token)
      : embeddings_(root.scope("embeddings"), config,
                    {.width = config.hidden(), .padding_token = padding_token, .segments = false}),
        bias_(bucket_bias(root.table("encoder.relative_attention_bias", {"32 buckets", kBuckets},
                                     {"num_attention_heads", config.num_attention_heads}),
                          kMaxDistance)),
        layers_(load_bert_layers(root, "encoder.layer.", config, kNames)) {}

  // x = LayerNorm(words + positions); then BERT's layers, whose scores are
  // q k / sqrt(head_dim) + bias(bucket of the distance).
  at::Tensor forward(const PackedInput& batch) const override {
    return run_layers(layers_, embeddings_(batch), {.batch = batch, .relative = &bias_});
  }

 private:
  BertEmbeddings embeddings_;
  RelativePositions bias_;
  std::vector<PostNormLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_mpnet(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "mpnet."}), source};
  auto model =
      std::make_unique<MpNet>(root, EncoderConfig(source.config), padding_token_of(source.config));
  source.weights.expect_all_taken({"pooler.*", "mpnet.pooler.*", "lm_head.*", "position_ids"});
  return model;
}

}  // namespace encode
