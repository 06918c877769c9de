// BERT and the models that share its block and its checkpoint's names: RoBERTa, XLM-RoBERTa,
// CamemBERT, ELECTRA.
#include "models/architectures.h"
#include "models/post_norm_encoder.h"

namespace encode {
namespace {

constexpr PostNormNames kNames = {.query = "attention.self.query",
                                  .key = "attention.self.key",
                                  .value = "attention.self.value",
                                  .attention_out = "attention.output.dense",
                                  .attention_norm = "attention.output.LayerNorm",
                                  .mlp_up = "intermediate.dense",
                                  .mlp_down = "output.dense",
                                  .mlp_norm = "output.LayerNorm"};

PostNormEncoder::Parts load_parts(const ModuleLoader& root, const EncoderConfig& config,
                                  const BertEmbeddingsOptions& options) {
  PostNormEncoder::Parts parts = {
      .embeddings = BertEmbeddings(root.scope("embeddings"), config, options),
      .layers = load_post_norm_layers(root, "encoder.layer.", config, kNames)};
  // ELECTRA's embeddings may be narrower than its layers.
  if (options.width.size != config.hidden_size)
    parts.projection = root.linear("embeddings_project", config.hidden(), options.width);
  return parts;
}

std::unique_ptr<Model> load(const ModelSource& source, const std::string& prefix,
                            const BertEmbeddingsOptions& options) {
  const EncoderConfig config(source.config);
  const std::string positions = source.config.string_or("position_embedding_type", "absolute");
  if (positions != "absolute")
    source.config.refuse("position_embedding_type", "absolute", "'" + positions + "'");
  const ModuleLoader root = {source.weights.root("embeddings.word_embeddings.weight", {"", prefix}),
                             source};
  auto model = std::make_unique<PostNormEncoder>(load_parts(root, config, options));
  // The pooler and the heads of pre-training are not part of an embedding.
  source.weights.expect_all_taken({"pooler.*", prefix + "pooler.*", "cls.*", "lm_head.*",
                                   "discriminator_predictions.*", "generator_predictions.*",
                                   "generator_lm_head.*", "classifier.*",
                                   "embeddings.position_ids"});
  return model;
}

}  // namespace

std::unique_ptr<Model> load_bert(const ModelSource& source) {
  if (source.config.string_or("position_embedding_type", "absolute") == "alibi")
    return load_jina_bert(source);
  return load(source, "bert.", {.width = EncoderConfig(source.config).hidden()});
}

std::unique_ptr<Model> load_roberta(const ModelSource& source) {
  return load(source, "roberta.",
              {.width = EncoderConfig(source.config).hidden(),
               .padding_token = padding_token_of(source.config)});
}

std::unique_ptr<Model> load_electra(const ModelSource& source) {
  return load(source, "electra.",
              {.width = {"embedding_size", source.config.integer("embedding_size", 1, 16384)}});
}

}  // namespace encode
