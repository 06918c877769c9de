// BERT with half the layers, without segments and pooler.
#include "models/architectures.h"
#include "models/post_norm_encoder.h"

namespace encode {
namespace {

constexpr PostNormNames kNames = {.query = "attention.q_lin",
                                  .key = "attention.k_lin",
                                  .value = "attention.v_lin",
                                  .attention_out = "attention.out_lin",
                                  .attention_norm = "sa_layer_norm",
                                  .mlp_up = "ffn.lin1",
                                  .mlp_down = "ffn.lin2",
                                  .mlp_norm = "output_layer_norm"};

}  // namespace

std::unique_ptr<Model> load_distilbert(const ModelSource& source) {
  const EncoderConfig config(source.config);
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "distilbert."}), source};
  const BertEmbeddings embeddings(root.scope("embeddings"), config,
                                  {.width = config.hidden(), .segments = false});
  auto model = std::make_unique<PostNormEncoder>(PostNormEncoder::Parts{
      .embeddings = embeddings,
      .layers = load_post_norm_layers(root, "transformer.layer.", config, kNames)});
  source.weights.expect_all_taken(
      {"vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*", "position_ids"});
  return model;
}

}  // namespace encode
