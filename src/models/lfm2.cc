// LFM2 (Liquid AI 2025): most layers mix the tokens with a short convolution in place of attention.
// Reference: modeling_lfm2.py of Hugging Face transformers.
#include <algorithm>
#include <fmt/format.h>
#include <variant>

#include "model_dir/extra_weights.h"
#include "models/architectures.h"
#include "models/decoder.h"
#include "models/rotary_decoder.h"

namespace encode {
namespace {

// A causal convolution over the last few tokens, one filter for each channel, between two gates:
//   ShortConv(z) = Wo (c * (filter over (b * v))),  (b, c, v) = Win z
//   (filter over y)[t] = bias + sum of tap_j * y[t - j] over j = 0 .. n - 1,  n = conv_L_cache
// A token before the start of the text counts as zero. The sum is computed in float32.
class ShortConv {
 public:
  ShortConv(const ModuleLoader& conv, const DecoderConfig& config, const JsonFields& json)
      : in_(conv.linear("in_proj", {"3 x hidden_size", 3 * config.hidden().size}, config.hidden(),
                        {.bias = json.boolean_or("conv_bias", false)})),
        out_(conv.linear("out_proj", config.hidden(), config.hidden(),
                         {.bias = json.boolean_or("conv_bias", false)})) {
    const Dim length = {"conv_L_cache", lfm2_taps(json)};
    const at::Tensor filter = conv.tensor("conv.weight", {config.hidden(), {"1", 1}, length});
    // The checkpoint has the tap of the oldest token first.
    for (int64_t j = length.size - 1; j >= 0; --j)
      taps_.push_back(filter.select(2, j).select(1, 0).to(at::kFloat).contiguous());
    if (json.boolean_or("conv_bias", false))
      bias_ = conv.tensor("conv.bias", {config.hidden()}).to(at::kFloat);
  }

  // Returns c * (filter over (b * v)) of norm(x) in `heads`, and x as the residual.
  Attended attend(const Norm& norm, ResidualSum x, const LayerContext& context) const {
    const at::Tensor bcv = in_(norm.settle_for_product(x, in_));
    const int64_t width = bcv.size(1) / 3;
    const auto part = [&](int64_t i) { return bcv.narrow(1, i * width, width); };
    at::Tensor mixed = filter(part(0).mul(part(2)), context.batch.position_ids);
    return {.heads = mixed.mul_(part(1)), .residual = std::move(x.sum)};
  }
  // Returns residual + Wo heads.
  ResidualSum add(const Attended& attended) const {
    return out_.add(attended.heads, attended.residual);
  }

 private:
  // Applies the filter to y [T, hidden_size]. Token t - j belongs to the same text as token t if
  // the position of token t is at least j.
  at::Tensor filter(const at::Tensor& y, const at::Tensor& positions) const {
    const at::Tensor wide = y.to(at::kFloat);
    at::Tensor sum = wide.mul(taps_.front());
    const auto distances = static_cast<int64_t>(taps_.size());
    for (int64_t j = 1; j < std::min(distances, y.size(0)); ++j) {
      const int64_t rest = y.size(0) - j;
      const at::Tensor outside = positions.narrow(0, j, rest).lt(j).unsqueeze(1);
      sum.narrow(0, j, rest)
          .add_(
              wide.narrow(0, 0, rest).mul(taps_[static_cast<size_t>(j)]).masked_fill_(outside, 0));
    }
    if (bias_.defined()) sum.add_(bias_);
    return sum.to(y.scalar_type());
  }

  Linear in_;
  Linear out_;
  std::vector<at::Tensor> taps_;  // by distance, [hidden_size] float32
  at::Tensor bias_;               // [hidden_size] float32 or undefined
};

struct Lfm2Layer {
  RmsNorm operator_norm;
  std::variant<SelfAttention, ShortConv> mixer;
  RmsNorm mlp_norm;
  FeedForward mlp;

  //   y = x + Mixer(RMSNorm(x)),  Mixer is ShortConv or Attention
  //   x = y + MLP(RMSNorm(y)),    MLP(z) = w2(silu(w1(z)) * w3(z))
  //   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v
  //   q = rotate(RMSNorm(Wq z)), k = rotate(RMSNorm(Wk z)), head by head, v = Wv z
  // Several heads of q share a head of k and v (grouped-query attention).
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    return std::visit(
        [&](const auto& mix) {
          const Attended attended = mix.attend(operator_norm, std::move(x), context);
          return finish_rows(context, attended, [&](const Attended& rows) {
            return mlp.add(mlp_norm, mix.add(rows));
          });
        },
        mixer);
  }
};

SelfAttention load_lfm2_attention(const ModuleLoader& self_attn, const DecoderConfig& config) {
  const AttentionShape& shape = config.attention;
  SelfAttention attention = {
      self_attn.fused(
          {{"q_proj", shape.query()}, {"k_proj", shape.key_value()}, {"v_proj", shape.key_value()}},
          shape.hidden(), {.bias = false}),
      self_attn.linear("out_proj", shape.hidden(), shape.query(), {.bias = false}), shape};
  attention.normalize_heads(self_attn.rms_norm("q_layernorm", config.head(), config.rms_norm_eps),
                            self_attn.rms_norm("k_layernorm", config.head(), config.rms_norm_eps));
  return attention;
}

Lfm2Layer load_lfm2_layer(const ModuleLoader& layer, const DecoderConfig& config,
                          const JsonFields& json, bool attends) {
  const auto norm = [&](const char* name) {
    return layer.rms_norm(name, config.hidden(), config.rms_norm_eps);
  };
  using Mixer = std::variant<SelfAttention, ShortConv>;
  return {.operator_norm = norm("operator_norm"),
          .mixer = attends ? Mixer(load_lfm2_attention(layer.scope("self_attn"), config))
                           : Mixer(ShortConv(layer.scope("conv"), config, json)),
          .mlp_norm = norm("ffn_norm"),
          .mlp = load_gated_mlp(layer.scope("feed_forward"),
                                {.gate = "w1", .up = "w3", .down = "w2"}, config, /*bias=*/false)};
}

}  // namespace

std::unique_ptr<Model> load_lfm2(const ModelSource& source) {
  // The defaults are from Lfm2Config in transformers.
  DecoderConfig config(source,
                       {.norm_eps = "norm_eps", .default_norm_eps = 1e-5, .default_theta = 1e6});
  config.hidden_act = Activation::kSilu;  // the reference does not read hidden_act
  const ModuleLoader root = decoder_root(source);
  const std::vector<bool> attends = lfm2_attention(source.config, config.num_hidden_layers);
  std::vector<Lfm2Layer> layers;
  for (size_t i = 0; i < attends.size(); ++i) {
    layers.push_back(load_lfm2_layer(root.scope(fmt::format("layers.{}", i)), config, source.config,
                                     attends[i]));
  }
  auto model = make_rotary_decoder(RotaryDecoderParts<Lfm2Layer, RmsNorm>{
      .words = root.table("embed_tokens", {"vocab_size", config.vocab_size}, config.hidden()),
      .layers = std::move(layers),
      .norm = root.rms_norm("embedding_norm", config.hidden(), config.rms_norm_eps),
      .rotary = Rotary(config.rope, source.max_positions, source.device),
      .window = config.full()});
  expect_decoder_taken(source.weights);
  return model;
}

}  // namespace encode
