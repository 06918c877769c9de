// GPT-NeoX (Black et al. 2022), GPT-J (Wang & Komatsuzaki 2021) and Phi (Li et al. 2023): attention
// and MLP read the same hidden states, and both are added to them. These are the differences:
//
//              norms before the two halves   biases                    rotated elements of a head
//   GPT-NeoX   two                           all if attention_bias,    the first rotary_pct of them
//                                            always in the MLP
//   GPT-J      one                           only in the MLP           the first rotary_dim of them
//   Phi        one                           all                       the first
//                                                                      partial_rotary_factor of
//                                                                      them
//
// GPT-NeoX stores queries, keys and values head by head (load_qkv_by_head()). GPT-J rotates pairs
// of neighbouring elements (load_qkv_of_neighbours()). References: modeling_gpt_neox.py,
// modeling_gptj.py and modeling_phi.py of Hugging Face transformers.
#include <fmt/format.h>

#include "models/architectures.h"
#include "models/gpt_decoder.h"
#include "models/rotary_decoder.h"

namespace encode {
namespace {

struct ParallelLayer {
  LayerNorm attention_norm;
  SelfAttention attention;
  LayerNorm mlp_norm;  // the same as attention_norm in GPT-J and Phi
  FeedForward mlp;
  bool parallel = true;

  //   x = x + Attention(LayerNorm1(x)) + MLP(LayerNorm2(x)),  MLP(z) = W2 act(W1 z + b1) + b2
  //   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v + bo
  // q, k and v are projections of z. q and k are rotated by their positions. If
  // use_parallel_residual of GPT-NeoX is false, the halves follow each other:
  //   y = x + Attention(LayerNorm1(x))
  //   x = y + MLP(LayerNorm2(y))
  // The code computes the MLP first, because attention.add() may overwrite x.
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const Attended attended = attention.attend(attention_norm, std::move(x), context);
    return finish_rows(context, attended, [this](const Attended& rows) -> ResidualSum {
      if (!parallel) return mlp.add(mlp_norm, attention.add(rows));
      at::Tensor of_mlp = mlp(mlp.input(mlp_norm, {rows.residual}));
      return {.sum = attention.add(rows).total(), .term = std::move(of_mlp)};
    });
  }
};

using ParallelParts = RotaryDecoderParts<ParallelLayer, LayerNorm>;

// The names in GPT-NeoX and Phi.
constexpr GptKeys kKeys = {.norm_eps = "layer_norm_eps", .activation = "hidden_act"};

ParallelLayer load_gpt_neox_layer(const ModuleLoader& layer, const GptConfig& config,
                                  const JsonFields& json) {
  const ModuleLoader attention = layer.scope("attention");
  const AttentionShape& shape = config.attention;
  const bool bias = json.boolean_or("attention_bias", true);
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {
      .attention_norm = norm("input_layernorm"),
      .attention = {load_qkv_by_head(attention, "query_key_value", shape, bias),
                    attention.linear("dense", shape.hidden(), shape.query(), {.bias = bias}),
                    shape},
      .mlp_norm = norm("post_attention_layernorm"),
      .mlp = load_mlp(layer.scope("mlp"), {.up = "dense_h_to_4h", .down = "dense_4h_to_h"}, config),
      .parallel = json.boolean_or("use_parallel_residual", true)};
}

ParallelLayer load_gptj_layer(const ModuleLoader& layer, const GptConfig& config, int64_t rotated) {
  const ModuleLoader attention = layer.scope("attn");
  const AttentionShape& shape = config.attention;
  const LayerNorm norm = layer.layer_norm("ln_1", config.hidden(), config.layer_norm_eps);
  return {
      .attention_norm = norm,
      .attention = {load_qkv_of_neighbours(attention, shape, rotated),
                    attention.linear("out_proj", shape.hidden(), shape.query(), {.bias = false}),
                    shape},
      .mlp_norm = norm,
      .mlp = load_mlp(layer.scope("mlp"), {.up = "fc_in", .down = "fc_out"}, config)};
}

ParallelLayer load_phi_layer(const ModuleLoader& layer, const GptConfig& config) {
  const ModuleLoader attention = layer.scope("self_attn");
  const AttentionShape& shape = config.attention;
  const LayerNorm norm =
      layer.layer_norm("input_layernorm", config.hidden(), config.layer_norm_eps);
  return {.attention_norm = norm,
          .attention = {attention.fused({{"q_proj", shape.query()},
                                         {"k_proj", shape.key_value()},
                                         {"v_proj", shape.key_value()}},
                                        shape.hidden(), {}),
                        attention.linear("dense", shape.hidden(), shape.query()), shape},
          .mlp_norm = norm,
          .mlp = load_mlp(layer.scope("mlp"), {.up = "fc1", .down = "fc2"}, config)};
}

// Returns rotary positions for the first `rotated` elements of each head.
Rotary load_rotary(const ModelSource& source, int64_t rotated, const std::string& theta_key) {
  const RopeQuery query = {.head_dim = rotated, .partial = true, .theta_key = theta_key};
  return {parse_rope(source.config, query), source.max_positions, source.device};
}

}  // namespace

std::unique_ptr<Model> load_gpt_neox(const ModelSource& source) {
  const JsonFields& json = source.config;
  const GptConfig config(source, kKeys, Activation::kGelu);
  const ModuleLoader root = {source.weights.root("embed_in.weight", {"", "gpt_neox."}), source};
  // 0.25 is the default of GPTNeoXConfig in transformers.
  const int64_t rotated =
      rotated_width(json, config.attention.head_dim, {.key = "rotary_pct", .fallback = 0.25});
  auto model = make_rotary_decoder(ParallelParts{
      .words = root.table("embed_in", {"vocab_size", config.vocab_size}, config.hidden()),
      .layers = root.layers("layers.", config.num_hidden_layers, load_gpt_neox_layer, config, json),
      .norm = root.layer_norm("final_layer_norm", config.hidden(), config.layer_norm_eps),
      .rotary = load_rotary(source, rotated, "rotary_emb_base"),
      .window = config.full()});
  // Older checkpoints store the causal mask and the frequencies in every layer.
  source.weights.expect_all_taken(
      {"embed_out.weight", ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"});
  return model;
}

std::unique_ptr<Model> load_gptj(const ModelSource& source) {
  const JsonFields& json = source.config;
  const GptConfig config(source, kGpt2Keys, Activation::kGeluTanh);
  const ModuleLoader root = {source.weights.root("wte.weight", {"", "transformer."}), source};
  // 64 is the default of GPTJConfig in transformers.
  const int64_t rotated = json.integer_or("rotary_dim", 64, 2, config.attention.head_dim);
  if (rotated % 2 != 0 || rotated > config.attention.head_dim) {
    json.refuse(
        "rotary_dim",
        fmt::format("an even number up to {}, the width of a head; without the key it is 64",
                    config.attention.head_dim),
        fmt::to_string(rotated));
  }
  auto model = make_rotary_decoder(ParallelParts{
      .words = root.table("wte", {"vocab_size", config.vocab_size}, config.hidden()),
      .layers = root.layers("h.", config.num_hidden_layers, load_gptj_layer, config, rotated),
      .norm = root.layer_norm("ln_f", config.hidden(), config.layer_norm_eps),
      .rotary = Rotary({.head_dim = rotated}, source.max_positions, source.device),
      .window = config.full()});
  source.weights.expect_all_taken({"lm_head.weight", "lm_head.bias", ".attn.bias",
                                   ".attn.masked_bias", ".attn.embed_positions"});
  return model;
}

std::unique_ptr<Model> load_phi(const ModelSource& source) {
  const JsonFields& json = source.config;
  const GptConfig config(source, kKeys, Activation::kGeluTanh);
  if (json.boolean_or("qk_layernorm", false)) json.refuse_variant("qk_layernorm", "false");
  // 0.5 is the default of PhiConfig in transformers.
  const int64_t rotated = rotated_width(json, config.attention.head_dim,
                                        {.key = "partial_rotary_factor", .fallback = 0.5});
  const ModuleLoader root = {source.weights.root("embed_tokens.weight", {"", "model."}), source};
  auto model = make_rotary_decoder(ParallelParts{
      .words = root.table("embed_tokens", {"vocab_size", config.vocab_size}, config.hidden()),
      .layers = root.layers("layers.", config.num_hidden_layers, load_phi_layer, config),
      .norm = root.layer_norm("final_layernorm", config.hidden(), config.layer_norm_eps),
      .rotary = load_rotary(source, rotated, "rope_theta"),
      .window = config.full()});
  source.weights.expect_all_taken({"lm_head.weight", "lm_head.bias", ".rotary_emb.inv_freq"});
  return model;
}

}  // namespace encode
