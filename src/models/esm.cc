// ESM-1b (Rives et al. 2021) and ESM-2 (Lin et al. 2023), encoders of protein sequences, with a
// token for each amino acid. ESM-2 has rotary positions. ESM-1b has the learned positions of
// RoBERTa. Reference: modeling_esm.py of Hugging Face transformers.
#include <algorithm>

#include <ATen/ops/embedding.h>
#include <ATen/ops/zeros.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"

namespace encode {
namespace {

struct EsmConfig {
  EncoderConfig encoder;
  bool rotary;                           // position_embedding_type: rotary, not absolute
  bool emb_layer_norm_before;            // a norm of the embeddings
  std::optional<int64_t> dropped_token;  // mask_token_id, if token_dropout is set
  std::optional<int64_t> padding_token;  // for learned positions

  explicit EsmConfig(const ModelSource& source)
      : encoder(source),
        rotary(encoder.rotary()),
        emb_layer_norm_before(source.config.boolean_or("emb_layer_norm_before", false)) {
    const JsonFields& json = source.config;
    const std::string type = json.string_or("position_embedding_type", "absolute");
    if (type != "absolute" && type != "rotary")
      json.refuse_variant("position_embedding_type", "absolute or rotary");
    encoder.hidden_act = Activation::kGelu;  // the reference does not read hidden_act
    if (json.boolean_or("token_dropout", false))
      dropped_token = json.integer("mask_token_id", 0, kMaxVocabSize);
    if (!rotary) padding_token = json.integer("pad_token_id", 0, kMaxVocabSize);
    if (json.boolean_or("is_folding_model", false))
      json.refuse_variant("is_folding_model", "false: a language model");
  }
};

// Returns the parameters of the rotation. A checkpoint of transformers 4 stores the frequencies in
// every layer, and transformers 5.17 saves them once, with a star in place of the layer. The
// reference uses the stored frequencies, because some were rounded to 16 bits before training.
RopeParameters rope_of(const ModuleLoader& root, const EsmConfig& config, const JsonFields& json) {
  RopeParameters rope;
  rope.head_dim = config.encoder.attention().head_dim;
  rope.theta = json.number_or("rope_theta", 10000, 1, kMaxRopeTheta);
  for (const char* name :
       {"rotary_embeddings.inv_freq", "encoder.layer.*.attention.self.rotary_embeddings.inv_freq",
        "encoder.layer.0.attention.self.rotary_embeddings.inv_freq"}) {
    if (!root.has(name)) continue;
    rope.stored = root.float_tensor(name, {{"head_dim / 2", rope.head_dim / 2}});
    break;
  }
  return rope;
}

// The layer of ESM:
//   y = x + Attention(LayerNorm(x))
//   x = y + W2 gelu(W1 LayerNorm(y) + b1) + b2
//   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v + bo
// q, k and v are projections of z with biases. With rotary positions q and k are rotated.
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using EsmLayer = PreNormLayer<LayerNorm>;

EsmLayer load_esm_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const AttentionShape shape = config.attention();
  const Dim hidden = config.hidden();
  return {.attention_norm = layer.layer_norm("attention.LayerNorm", hidden, config.layer_norm_eps),
          .attention = {layer.fused({{"attention.self.query", shape.query()},
                                     {"attention.self.key", shape.key_value()},
                                     {"attention.self.value", shape.key_value()}},
                                    hidden, {}),
                        layer.linear("attention.output.dense", hidden, shape.query()), shape},
          .mlp_norm = layer.layer_norm("LayerNorm", hidden, config.layer_norm_eps),
          .mlp = {layer.linear("intermediate.dense", config.inner(), hidden,
                               {.activation = Activation::kGelu}),
                  layer.linear("output.dense", hidden, config.inner())}};
}

// Returns for each token slot the number of its sequence, [T] int64. The filler slots count as one
// more sequence.
at::Tensor sequence_of_slots(const PackedInput& batch) {
  std::vector<int64_t> sequence(static_cast<size_t>(batch.tokens()), batch.sequences());
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    std::fill(sequence.begin() + batch.cu_seqlens[b], sequence.begin() + batch.cu_seqlens[b + 1],
              static_cast<int64_t>(b));
  }
  return to_device(sequence, batch.input_ids.device());
}

// Applies token dropout. In training, 0.15 x 0.8 of the tokens were masked and had vectors of
// zeros. To keep the scale of the sum, the vectors of a text are multiplied by
//   0.88 / (1 - masked tokens of the text / tokens of the text)
at::Tensor drop_masked(const at::Tensor& words, const PackedInput& batch, int64_t mask_token) {
  constexpr double kKeptInTraining = 1 - 0.15 * 0.8;
  std::vector<float> lengths;
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b)
    lengths.push_back(static_cast<float>(batch.cu_seqlens[b + 1] - batch.cu_seqlens[b]));
  // The length for the filler slots. It is above their number, so `kept` below is never 0 for them.
  lengths.push_back(static_cast<float>(batch.tokens() + 1));
  const at::Tensor masked = batch.input_ids.eq(mask_token);
  const at::Tensor sequence = sequence_of_slots(batch);
  const at::Tensor share = at::zeros({batch.sequences() + 1}, words.options().dtype(at::kFloat))
                               .index_add_(0, sequence, masked.to(at::kFloat))
                               .div_(to_device(lengths, words.device()));
  const at::Tensor kept = share.neg().add_(1).index_select(0, sequence).unsqueeze(1);
  return words.masked_fill(masked.unsqueeze(1), 0)
      .to(at::kFloat)
      .mul_(kKeptInTraining)
      .div_(kept)
      .to(words.scalar_type());
}

class Esm : public Model {
 public:
  Esm(const ModuleLoader& root, const EsmConfig& config, const ModelSource& source)
      : config_(config),
        words_(root.table("embeddings.word_embeddings", {"vocab_size", config.encoder.vocab_size},
                          config.encoder.hidden())),
        layers_(root.layers("encoder.layer.", config.encoder.num_hidden_layers, load_esm_layer,
                            config.encoder)),
        final_norm_(root.layer_norm("encoder.emb_layer_norm_after", config.encoder.hidden(),
                                    config.encoder.layer_norm_eps)) {
    if (config.rotary) {
      rotary_.emplace(rope_of(root, config, source.config), source.max_positions, source.device);
    } else {
      positions_ = root.table("embeddings.position_embeddings",
                              {"max_position_embeddings", config.encoder.max_position_embeddings},
                              config.encoder.hidden());
    }
    if (config.emb_layer_norm_before)
      embeddings_norm_ = root.layer_norm("embeddings.layer_norm", config.encoder.hidden(),
                                         config.encoder.layer_norm_eps);
  }

  //   x = words[ids], after token dropout (+ positions, if they are learned)
  //   x = LayerNorm(x), if emb_layer_norm_before is set
  //   x = layer(x), layer after layer; the result is LayerNorm(x)
  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = at::embedding(words_, batch.input_ids);
    if (config_.dropped_token) x = drop_masked(x, batch, *config_.dropped_token);
    if (positions_.defined())
      x = x.add(at::embedding(positions_, positions_after_padding(batch, *config_.padding_token)));
    if (embeddings_norm_) x = (*embeddings_norm_)(x);
    if (!rotary_) return final_norm_(run_layers(layers_, ResidualSum{x}, {.batch = batch}));
    const RotaryAngles angles = rotary_->angles(batch);
    return final_norm_(run_layers(layers_, ResidualSum{x}, {.batch = batch, .rotary = &angles}));
  }

 private:
  EsmConfig config_;
  at::Tensor words_;
  at::Tensor positions_;  // undefined with rotary positions
  std::optional<LayerNorm> embeddings_norm_;
  std::optional<Rotary> rotary_;
  std::vector<EsmLayer> layers_;
  LayerNorm final_norm_;
};

}  // namespace

std::unique_ptr<Model> load_esm(const ModelSource& source) {
  const EsmConfig config(source);
  const ModuleLoader root = {source.weights.root("embeddings.word_embeddings.weight", {"", "esm."}),
                             source};
  auto model = std::make_unique<Esm>(root, config, source);
  source.weights.expect_all_taken({"pooler.*", "esm.pooler.*", "contact_head.*",
                                   "esm.contact_head.*", "lm_head.*", "classifier.*",
                                   "position_ids", "rotary_embeddings.inv_freq",
                                   "embeddings.position_embeddings.weight"});
  return model;
}

}  // namespace encode
