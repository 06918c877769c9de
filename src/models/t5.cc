// The encoders of T5 (Raffel et al. 2020), mT5 (Xue et al. 2021) and UMT5 (Chung et al. 2023).
// References: modeling_t5.py and modeling_umt5.py of Hugging Face transformers.
#include <fmt/format.h>

#include <ATen/ops/embedding.h>

#include "model_dir/extra_weights.h"
#include "model_dir/limits.h"
#include "model_dir/supported_architectures.h"
#include "models/architectures.h"
#include "models/config_fields.h"
#include "models/layers.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

struct T5Config : ModelSizes {
  int64_t relative_attention_num_buckets;
  int64_t relative_attention_max_distance;
  double layer_norm_epsilon;
  Activation activation = Activation::kRelu;

  explicit T5Config(const ModelSource& source)
      : ModelSizes(source.sizes),
        relative_attention_num_buckets(t5_buckets(source.config)),
        relative_attention_max_distance(
            source.config.integer_or("relative_attention_max_distance", 128,
                                     relative_attention_num_buckets / 2, kMaxPositions)),
        layer_norm_epsilon(
            source.config.number_or("layer_norm_epsilon", 1e-6, kMinNormEps, kMaxNormEps)) {
    const JsonFields& json = source.config;
    const std::string form = t5_feed_forward(entry_of(architecture).traits.mlp, json);
    const bool prefixed = form.starts_with("gated-");
    const Json name = {{"feed_forward_proj", prefixed ? form.substr(6) : form}};
    // In T5 "gated-gelu" means the tanh approximation.
    activation =
        form == "gated-gelu"
            ? Activation::kGeluTanh
            : parse_activation(JsonFields(name, json.where(), "model.config"), "feed_forward_proj");
    activation = parse_activation_or(json, "dense_act_fn", activation);
  }

  // T5 does not scale the scores.
  AttentionShape attention() const {
    AttentionShape shape = AttentionShape::of(*this);
    shape.scale = 1;
    return shape;
  }
  Dim hidden() const { return {"d_model", hidden_size}; }
  Dim inner() const { return {"d_ff", intermediate_size}; }
};

constexpr LinearOptions kNoBias = {.bias = false};

FeedForward load_mlp(const ModuleLoader& mlp, const T5Config& config) {
  Linear down = mlp.linear("wo", config.hidden(), config.inner(), kNoBias);
  if (config.gated) {
    return FeedForward(
        {.gate_then_up = mlp.fused({{"wi_0", config.inner()}, {"wi_1", config.inner()}},
                                   config.hidden(), kNoBias),
         .down = std::move(down),
         .gate_activation = config.activation});
  }
  return {mlp.linear("wi", config.inner(), config.hidden(),
                     {.bias = false, .activation = config.activation}),
          std::move(down)};
}

// The layer of T5:
//   y = x + Attention(RMSNorm(x))
//   x = y + MLP(RMSNorm(y))
//   Attention(z) = Wo softmax(s) v,  s_ij = q_i k_j^T + bias[bucket(j - i)]
//   (q, k, v) = (Wq z, Wk z, Wv z)
//   MLP(z) = wo(act(wi(z))), or in the gated form wo(act(wi_0(z)) * wi_1(z))
// Each head has a bias for each bucket. With n = relative_attention_num_buckets / 2, m = n / 2 and
// D = relative_attention_max_distance, the bucket of a distance d is:
//   bucket(d) = f(|d|) if d <= 0, n + f(|d|) if d > 0
//   f(a) = a if a < m, else min(n - 1, m + floor((n - m) log(a / m) / log(D / m)))
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using T5Layer = PreNormLayer<RmsNorm>;

T5Layer load_t5_layer(const ModuleLoader& block, const T5Config& config) {
  const AttentionShape shape = config.attention();
  const ModuleLoader attention = block.scope("layer.0.SelfAttention");
  const auto norm = [&](const char* name) {
    return block.rms_norm(name, config.hidden(), config.layer_norm_epsilon);
  };
  return {
      .attention_norm = norm("layer.0.layer_norm"),
      .attention = {attention.fused(
                        {{"q", shape.query()}, {"k", shape.key_value()}, {"v", shape.key_value()}},
                        config.hidden(), kNoBias),
                    attention.linear("o", config.hidden(), shape.query(), kNoBias), shape},
      .mlp_norm = norm("layer.1.layer_norm"),
      .mlp = load_mlp(block.scope("layer.1.DenseReluDense"), config)};
}

class T5Encoder : public Model {
 public:
  // In T5 all layers use the relative biases of the first layer. In UMT5 each layer has its own.
  T5Encoder(const WeightScope& root, const T5Config& config, const ModelSource& source,
            bool own_biases)
      : words_(root.take(words_name(root), {{"vocab_size", config.vocab_size}, config.hidden()})
                   .to(source.device)),
        norm_(
            ModuleLoader(root, source)
                .rms_norm("encoder.final_layer_norm", config.hidden(), config.layer_norm_epsilon)) {
    const ModuleLoader encoder(root.scope("encoder"), source);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
      const ModuleLoader block = encoder.scope(fmt::format("block.{}", i));
      layers_.push_back(load_t5_layer(block, config));
      if (i == 0 || own_biases) {
        biases_.push_back(bucket_bias(
            block.table("layer.0.SelfAttention.relative_attention_bias",
                        {"relative_attention_num_buckets", config.relative_attention_num_buckets},
                        {"num_heads", config.num_attention_heads}),
            config.relative_attention_max_distance));
      }
    }
  }

  // x = words[ids]; x = layer(x), layer after layer; the result is RMSNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    ResidualSum x = {at::embedding(words_, batch.input_ids)};
    if (biases_.size() == 1) {
      const RelativePositions bias = for_batch(biases_.front(), batch, x.sum);
      return norm_(run_layers(layers_, x, {.batch = batch, .relative = &bias}));
    }
    x = run_layers(layers_, x, [&](size_t layer) {
      return LayerContext{.batch = batch, .relative = &biases_[layer]};
    });
    return norm_(x);
  }

 private:
  // The table has two names. A checkpoint has one of the names or both.
  static const char* words_name(const WeightScope& root) {
    return root.has("shared.weight") ? "shared.weight" : "encoder.embed_tokens.weight";
  }

  at::Tensor words_;
  std::vector<T5Layer> layers_;
  std::vector<RelativePositions> biases_;
  RmsNorm norm_;
};

std::unique_ptr<Model> load(const ModelSource& source, bool own_biases) {
  const T5Config config(source);
  const WeightScope root =
      source.weights.root("encoder.final_layer_norm.weight", {"", "transformer."});
  auto model = std::make_unique<T5Encoder>(root, config, source, own_biases);
  // An embedding needs neither the decoder nor the second copy of the word embeddings.
  source.weights.expect_all_taken(
      {"encoder.embed_tokens.weight", "decoder.*", "transformer.decoder.*", "lm_head.weight"});
  return model;
}

}  // namespace

std::unique_ptr<Model> load_t5(const ModelSource& source) {
  return load(source, /*own_biases=*/false);
}

std::unique_ptr<Model> load_umt5(const ModelSource& source) {
  return load(source, /*own_biases=*/true);
}

}  // namespace encode
