// BERT's block with T5's relative biases, one table for all layers, beside absolute positions.
#include "models/architectures.h"
#include "models/post_norm_encoder.h"

namespace encode {
namespace {

// The released code ignores relative_attention_num_buckets.
constexpr int64_t kBuckets = 32;
constexpr int64_t kMaxDistance = 128;

constexpr PostNormNames kNames = {.query = "attention.attn.q",
                                  .key = "attention.attn.k",
                                  .value = "attention.attn.v",
                                  .attention_out = "attention.attn.o",
                                  .attention_norm = "attention.LayerNorm",
                                  .mlp_up = "intermediate.dense",
                                  .mlp_down = "output.dense",
                                  .mlp_norm = "output.LayerNorm"};

PostNormEncoder::Parts load_parts(const ModuleLoader& root, const EncoderConfig& config,
                                  int64_t padding_token) {
  const at::Tensor bias = root.table("encoder.relative_attention_bias", {"32 buckets", kBuckets},
                                     {"num_attention_heads", config.num_attention_heads});
  return {.embeddings = BertEmbeddings(
              root.scope("embeddings"), config,
              {.width = config.hidden(), .padding_token = padding_token, .segments = false}),
          .relative = bucket_bias(bias, kMaxDistance),
          .layers = load_post_norm_layers(root, "encoder.layer.", config, kNames)};
}

}  // namespace

std::unique_ptr<Model> load_mpnet(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "mpnet."}), source};
  auto model = std::make_unique<PostNormEncoder>(
      load_parts(root, EncoderConfig(source.config), padding_token_of(source.config)));
  source.weights.expect_all_taken({"pooler.*", "mpnet.pooler.*", "lm_head.*", "position_ids"});
  return model;
}

}  // namespace encode
