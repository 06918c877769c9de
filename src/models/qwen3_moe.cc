// Qwen3 with a mixture of experts (Yang et al. 2025): the MLP of most layers is replaced by several
// MLPs, of which a router chooses a few for each token. Reference: modeling_qwen3_moe.py of Hugging
// Face transformers.
#include <fmt/format.h>
#include <variant>

#include "model_dir/extra_weights.h"
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/decoder.h"
#include "models/mixture_of_experts.h"
#include "models/rotary_decoder.h"

namespace encode {
namespace {

struct Qwen3MoeLayer {
  RmsNorm attention_norm;
  SelfAttention attention;
  RmsNorm mlp_norm;
  std::variant<MixtureOfExperts, FeedForward> mlp;

  //   y = x + Attention(RMSNorm(x))
  //   x = y + MoE(RMSNorm(y))
  //   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v
  //   q = rotate(RMSNorm(Wq z)), k = rotate(RMSNorm(Wk z)), head by head, v = Wv z
  //   MoE(z) = sum of p_e MLP_e(z) over the num_experts_per_tok experts e with the largest p_e
  //   p = softmax(router(z)); with norm_topk_prob the chosen p_e are divided by their sum
  //   MLP(z) = down_proj(silu(gate_proj(z)) * up_proj(z))
  // Several heads of q share a head of k and v (grouped-query attention). A layer without experts
  // has an MLP in place of MoE.
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const Attended attended = attention.attend(attention_norm, std::move(x), context);
    return finish_rows(context, attended, [this](const Attended& rows) {
      return std::visit([&](const auto& part) { return part.add(mlp_norm, attention.add(rows)); },
                        mlp);
    });
  }
};

struct Experts : QwenExperts {
  bool normalize;

  // The default is from Qwen3MoeConfig in transformers.
  Experts(const JsonFields& json, int64_t layers)
      : QwenExperts(json, layers), normalize(json.boolean_or("norm_topk_prob", false)) {}
  Dim inner() const { return {"moe_intermediate_size", intermediate_size}; }
};

FeedForward load_expert(const ModuleLoader& expert, const DecoderConfig& config, const Dim& inner) {
  return FeedForward({.gate_then_up = expert.fused({{"gate_proj", inner}, {"up_proj", inner}},
                                                   config.hidden(), {.bias = false}),
                      .down = expert.linear("down_proj", config.hidden(), inner, {.bias = false}),
                      .gate_activation = config.hidden_act});
}

MixtureOfExperts load_experts(const ModuleLoader& mlp, const DecoderConfig& config,
                              const Experts& experts) {
  return MixtureOfExperts(
      {.router =
           mlp.linear("gate", {"num_experts", experts.count}, config.hidden(), {.bias = false}),
       .experts = mlp.layers("experts.", experts.count, load_expert, config, experts.inner()),
       .top_k = experts.top_k,
       .normalize = experts.normalize});
}

Qwen3MoeLayer load_qwen3_moe_layer(const ModuleLoader& layer, const DecoderConfig& config,
                                   const Experts& experts, bool mixture) {
  const ModuleLoader self_attn = layer.scope("self_attn");
  const ModuleLoader mlp = layer.scope("mlp");
  SelfAttention attention = load_attention(
      self_attn, config, {.qkv = config.attention_bias, .out = config.attention_bias});
  attention.normalize_heads(self_attn.rms_norm("q_norm", config.head(), config.rms_norm_eps),
                            self_attn.rms_norm("k_norm", config.head(), config.rms_norm_eps));
  const auto norm = [&](const char* name) {
    return layer.rms_norm(name, config.hidden(), config.rms_norm_eps);
  };
  using Mlp = std::variant<MixtureOfExperts, FeedForward>;
  return {.attention_norm = norm("input_layernorm"),
          .attention = std::move(attention),
          .mlp_norm = norm("post_attention_layernorm"),
          .mlp = mixture ? Mlp(load_experts(mlp, config, experts))
                         : Mlp(load_gated_mlp(mlp, kUsualMlpNames, config, /*bias=*/false))};
}

// All layers have the same window. The default 4,096 is from Qwen3MoeConfig.
AttentionWindow window_of(const JsonFields& json, const DecoderConfig& config) {
  return json.boolean_or("use_sliding_window", false)
             ? config.sliding(
                   json.integer_or("sliding_window", kDefaultSlidingWindow, 1, kMaxWindowTokens))
             : config.full();
}

}  // namespace

std::unique_ptr<Model> load_qwen3_moe(const ModelSource& source) {
  const DecoderConfig config(source);
  const ModuleLoader root = decoder_root(source);
  const Experts experts(source.config, config.num_hidden_layers);
  std::vector<Qwen3MoeLayer> layers;
  for (size_t i = 0; i < experts.in_layer.size(); ++i) {
    layers.push_back(load_qwen3_moe_layer(root.scope(fmt::format("layers.{}", i)), config, experts,
                                          experts.in_layer[i]));
  }
  auto model = make_rotary_decoder(RotaryDecoderParts<Qwen3MoeLayer, RmsNorm>{
      .words = root.table("embed_tokens", {"vocab_size", config.vocab_size}, config.hidden()),
      .layers = std::move(layers),
      .norm = root.rms_norm("norm", config.hidden(), config.rms_norm_eps),
      .rotary = Rotary(config.rope, source.max_positions, source.device),
      .window = window_of(source.config, config)});
  expect_decoder_taken(source.weights);
  return model;
}

}  // namespace encode
