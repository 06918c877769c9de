#include "models/decoder.h"

#include <cmath>

#include <ATen/ops/embedding.h>
#include <ATen/ops/scalar_tensor.h>

#include "models/layers.h"

namespace encode {
namespace {

class DecoderLayer {
 public:
  DecoderLayer(const ModuleLoader& layer, const DecoderConfig& config)
      : attention_norm_(norm(layer, config, "input_layernorm")),
        attention_(load_attention(layer.scope("self_attn"), config)),
        // Llama's name for the norm before the MLP is the one that Gemma 2 gives the norm after
        // attention.
        mlp_norm_(
            norm(layer, config,
                 config.norm_after ? "pre_feedforward_layernorm" : "post_attention_layernorm")),
        mlp_(load_mlp(layer.scope("mlp"), config)) {
    if (!config.norm_after) return;
    after_attention_ = norm(layer, config, "post_attention_layernorm");
    after_mlp_ = norm(layer, config, "post_feedforward_layernorm");
  }

  // x += [Norm](Attention(Norm(x))); x += [Norm](MLP(Norm(x))).
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const at::Tensor attended =
        attention_.attend(attention_norm_.settle_for_product(x, attention_.first()), context);
    return finish_rows(context, attended, x.sum,
                       [this](const at::Tensor& rows, const at::Tensor& residual) {
                         return finish(rows, residual);
                       });
  }

 private:
  ResidualSum finish(const at::Tensor& attended, const at::Tensor& residual) const {
    ResidualSum x = after_attention_
                        ? ResidualSum{residual, (*after_attention_)(attention_.project(attended))}
                        : attention_.add(attended, residual);
    const LinearInput to_mlp = mlp_norm_.settle_for_product(x, mlp_.first());
    return after_mlp_ ? ResidualSum{x.sum, (*after_mlp_)(mlp_(to_mlp))} : mlp_.add(to_mlp, x.sum);
  }

  static RmsNorm norm(const ModuleLoader& layer, const DecoderConfig& config, const char* name) {
    return layer.rms_norm(name, config.attention.hidden(), config.rms_norm_eps, config.norm_weight);
  }

  static SelfAttention load_attention(const ModuleLoader& self, const DecoderConfig& config) {
    const AttentionShape& shape = config.attention;
    SelfAttention attention(
        self.fused({{"q_proj", shape.query()},
                    {"k_proj", shape.key_value()},
                    {"v_proj", shape.key_value()}},
                   shape.hidden(), {.bias = config.qkv_bias}),
        self.linear("o_proj", shape.hidden(), shape.query(), {.bias = config.out_bias}), shape);
    if (config.normalize_heads) {
      const auto head_norm = [&](const char* name) {
        return self.rms_norm(name, {"head_dim", shape.head_dim}, config.rms_norm_eps,
                             config.norm_weight);
      };
      attention.normalize_heads(head_norm("q_norm"), head_norm("k_norm"));
    }
    return attention;
  }

  static FeedForward load_mlp(const ModuleLoader& mlp, const DecoderConfig& config) {
    const Dim inner = {"intermediate_size", config.intermediate_size};
    const Dim hidden = config.attention.hidden();
    const LinearOptions options = {.bias = config.mlp_bias};
    return FeedForward::gated(
        mlp.fused({{"gate_proj", inner}, {"up_proj", inner}}, hidden, options),
        mlp.linear("down_proj", hidden, inner, options), config.hidden_act);
  }

  RmsNorm attention_norm_;
  SelfAttention attention_;
  std::optional<RmsNorm> after_attention_;
  RmsNorm mlp_norm_;
  FeedForward mlp_;
  std::optional<RmsNorm> after_mlp_;
};

class Decoder : public Model {
 public:
  Decoder(const ModuleLoader& root, const DecoderConfig& config, int64_t max_positions)
      : words_(root.table("embed_tokens", {"vocab_size", config.vocab_size},
                          config.attention.hidden())),
        embedding_scale_(config.embedding_scale),
        rotary_(config.rope, max_positions, root.device()),
        full_(config.causal ? AttentionWindow::causal() : AttentionWindow{}),
        sliding_(config.sliding),
        window_(config.window),
        norm_(root.rms_norm("norm", config.attention.hidden(), config.rms_norm_eps,
                            config.norm_weight)) {
    sliding_.resize(static_cast<size_t>(config.num_hidden_layers), false);
    if (config.sliding_rope)
      sliding_rotary_.emplace(*config.sliding_rope, max_positions, root.device());
    for (int64_t i = 0; i < config.num_hidden_layers; ++i)
      layers_.emplace_back(root.scope("layers." + std::to_string(i)), config);
  }

  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    const RotaryAngles sliding_angles = sliding_rotary_ ? sliding_rotary_->angles(batch) : angles;
    const LayerContext full = {.batch = batch, .window = full_, .rotary = &angles};
    const LayerContext sliding = {.batch = batch, .window = window_, .rotary = &sliding_angles};
    ResidualSum x = {at::embedding(words_, batch.input_ids)};
    // In the compute type, as the makers do: in bfloat16 the square root of 3,072 is 55.5.
    if (embedding_scale_ != 1) x.sum.mul_(at::scalar_tensor(embedding_scale_, x.sum.options()));
    x = run_layers(layers_, x, [&](size_t layer) { return sliding_[layer] ? sliding : full; });
    return norm_(x);
  }

 private:
  at::Tensor words_;
  double embedding_scale_;
  Rotary rotary_;
  std::optional<Rotary> sliding_rotary_;
  AttentionWindow full_;
  std::vector<bool> sliding_;
  AttentionWindow window_;
  std::vector<DecoderLayer> layers_;
  RmsNorm norm_;
};

AttentionShape read_attention(const JsonFields& json, int64_t default_head_dim) {
  const int64_t hidden_size = json.integer("hidden_size", 1, 16384);
  const int64_t heads = json.integer("num_attention_heads", 1, 1024);
  AttentionShape shape = AttentionShape::multi_head(hidden_size, heads);
  shape.num_key_value_heads = json.integer_or("num_key_value_heads", heads, 1, 1024);
  if (heads % shape.num_key_value_heads != 0) {
    json.refuse("num_key_value_heads", "a divisor of num_attention_heads " + std::to_string(heads),
                std::to_string(shape.num_key_value_heads));
  }
  shape.head_dim =
      json.integer_or("head_dim", default_head_dim > 0 ? default_head_dim : shape.head_dim, 2, 512);
  if (shape.head_dim % 2 != 0)
    json.refuse("head_dim", "an even number", std::to_string(shape.head_dim));
  shape.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  return shape;
}

}  // namespace

DecoderConfig::DecoderConfig(const ModelSource& source, int64_t head_dim)
    : attention(read_attention(source.config, head_dim)),
      num_hidden_layers(source.config.integer("num_hidden_layers", 1, 256)),
      intermediate_size(source.config.integer("intermediate_size", 1, 1 << 20)),
      vocab_size(source.config.integer("vocab_size", 1, 1 << 22)),
      rms_norm_eps(source.config.number_or("rms_norm_eps", 1e-6, 1e-30, 1)),
      hidden_act(parse_activation_or(source.config, "hidden_act", Activation::kSilu)),
      rope(parse_rope(source.config, {.head_dim = attention.head_dim})),
      causal(source.causal.value_or(source.config.boolean_or("is_causal", true))) {}

AttentionWindow DecoderConfig::window_of(int64_t sliding_window) const {
  return causal ? AttentionWindow{.left = sliding_window - 1, .right = 0}
                : AttentionWindow{.left = sliding_window, .right = sliding_window};
}

void DecoderConfig::read_biases(const JsonFields& json) {
  qkv_bias = out_bias = json.boolean_or("attention_bias", false);
  mlp_bias = json.boolean_or("mlp_bias", false);
}

std::unique_ptr<Model> load_decoder(const ModelSource& source, const DecoderConfig& config) {
  const ModuleLoader root = {
      source.weights.root("embed_tokens.weight",
                          {"", "model.", "language_model.", "language_model.model."}),
      source};
  auto model = std::make_unique<Decoder>(root, config, source.max_positions);
  source.weights.expect_all_taken({"lm_head.weight", "rotary_emb.inv_freq"});
  return model;
}

}  // namespace encode
