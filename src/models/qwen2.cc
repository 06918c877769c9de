#include <cmath>
#include <optional>

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/silu.h>

#include "encode/error.h"

#include "models/architectures.h"
#include "nn/attention.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rotary.h"

namespace encode {
namespace {

// rope_theta stands at the top (transformers 4) or in rope_parameters (transformers 5).
double rope_theta(const JsonFields& json) {
  constexpr double kDefault = 10000.0;
  constexpr double kLargest = 1e12;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!json.has(key)) continue;
    const JsonFields rope(json.object(key), std::string("config.json: ") + key, "model.config");
    const std::string type = rope.string_or("rope_type", rope.string_or("type", "default"));
    if (type != "default") json.refuse(key, "rope_type 'default'", "'" + type + "'");
    if (rope.has("rope_theta")) return rope.number("rope_theta", 1, kLargest);
  }
  return json.number_or("rope_theta", kDefault, 1, kLargest);
}

struct Qwen2Config {
  int64_t hidden_size;
  int64_t num_hidden_layers;
  int64_t num_attention_heads;
  int64_t num_key_value_heads;
  int64_t head_dim;
  int64_t intermediate_size;
  int64_t vocab_size;
  double rms_norm_eps;
  double theta;
  bool causal;

  explicit Qwen2Config(const ModelSource& source)
      : hidden_size(source.config.integer("hidden_size", 1, 16384)),
        num_hidden_layers(source.config.integer("num_hidden_layers", 1, 256)),
        num_attention_heads(source.config.integer("num_attention_heads", 1, 1024)),
        num_key_value_heads(
            source.config.integer_or("num_key_value_heads", num_attention_heads, 1, 1024)),
        head_dim(source.config.integer_or("head_dim", hidden_size / num_attention_heads, 2, 512)),
        intermediate_size(source.config.integer("intermediate_size", 1, 1 << 20)),
        vocab_size(source.config.integer("vocab_size", 1, 1 << 22)),
        rms_norm_eps(source.config.number_or("rms_norm_eps", 1e-6, 1e-30, 1)),
        theta(rope_theta(source.config)),
        causal(source.causal.value_or(source.config.boolean_or("is_causal", true))) {
    const JsonFields& json = source.config;
    if (num_attention_heads % num_key_value_heads != 0) {
      json.refuse("num_key_value_heads",
                  "a divisor of num_attention_heads " + std::to_string(num_attention_heads),
                  std::to_string(num_key_value_heads));
    }
    if (parse_activation(json, "hidden_act") != Activation::kSilu) {
      json.refuse("hidden_act", "silu", json.string("hidden_act"));
    }
    if (json.boolean_or("use_sliding_window", false)) {
      json.refuse("use_sliding_window", "false: windows are not supported for Qwen2", "true");
    }
  }

  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim query() const {
    return {"num_attention_heads " + std::to_string(num_attention_heads) + " x head_dim " +
                std::to_string(head_dim),
            num_attention_heads * head_dim};
  }
  Dim key_value() const {
    return {"num_key_value_heads " + std::to_string(num_key_value_heads) + " x head_dim " +
                std::to_string(head_dim),
            num_key_value_heads * head_dim};
  }
};

RmsNorm take_norm(const WeightScope& weights, const Qwen2Config& config, at::Device device) {
  return {weights.take("weight", {config.hidden()}).to(device), config.rms_norm_eps};
}

Linear take_fused_qkv(const WeightScope& attention, const Qwen2Config& config, at::Device device) {
  std::vector<at::Tensor> weight;
  std::vector<at::Tensor> bias;
  for (const auto& [name, out] :
       {std::pair{"q_proj", config.query()}, std::pair{"k_proj", config.key_value()},
        std::pair{"v_proj", config.key_value()}}) {
    weight.push_back(attention.scope(name).take("weight", {out, config.hidden()}));
    bias.push_back(attention.scope(name).take("bias", {out}));
  }
  return {at::cat(weight).to(device), at::cat(bias).to(device)};
}

Linear take_fused_gate_up(const WeightScope& mlp, const Qwen2Config& config, at::Device device) {
  const std::vector<Dim> shape = {{"intermediate_size", config.intermediate_size}, config.hidden()};
  return {at::cat({mlp.scope("gate_proj").take("weight", shape),
                   mlp.scope("up_proj").take("weight", shape)})
              .to(device),
          {}};
}

Linear take_linear(const WeightScope& weights, const Dim& out, const Dim& in, at::Device device) {
  return {weights.take("weight", {out, in}).to(device), {}};
}

class Qwen2Layer {
 public:
  Qwen2Layer(const WeightScope& weights, const Qwen2Config& config, at::Device device)
      : config_(config),
        input_norm_(take_norm(weights.scope("input_layernorm"), config, device)),
        qkv_(take_fused_qkv(weights.scope("self_attn"), config, device)),
        attention_out_(take_linear(weights.scope("self_attn.o_proj"), config.hidden(),
                                   config.query(), device)),
        mlp_norm_(take_norm(weights.scope("post_attention_layernorm"), config, device)),
        gate_up_(take_fused_gate_up(weights.scope("mlp"), config, device)),
        down_(take_linear(weights.scope("mlp.down_proj"), config.hidden(),
                          {"intermediate_size", config.intermediate_size}, device)) {}

  // x += Attention(RMSNorm(x)); x += down(silu(gate(h)) * up(h)) with h = RMSNorm(x).
  at::Tensor forward(const at::Tensor& input, const PackedInput& batch,
                     const Rotary& rotary) const {
    const at::Tensor x = attention_out_.add(attention(input_norm_(input), batch, rotary), input);
    return down_.add(gated(mlp_norm_(x)), x);
  }

 private:
  at::Tensor attention(const at::Tensor& x, const PackedInput& batch, const Rotary& rotary) const {
    const int64_t heads = config_.num_attention_heads;
    const int64_t kv_heads = config_.num_key_value_heads;
    at::Tensor qkv = qkv_(x).view({x.size(0), heads + 2 * kv_heads, config_.head_dim});
    rotary.apply(qkv, heads + kv_heads, batch.position_ids);
    const AttentionInput input = {.query = qkv.narrow(1, 0, heads),
                                  .key = qkv.narrow(1, heads, kv_heads),
                                  .value = qkv.narrow(1, heads + kv_heads, kv_heads)};
    const double scale = 1 / std::sqrt(static_cast<double>(config_.head_dim));
    return varlen_attention(
        input, batch,
        {.scale = scale, .window = config_.causal ? AttentionWindow::causal() : AttentionWindow{}});
  }

  at::Tensor gated(const at::Tensor& x) const {
    const at::Tensor gate_up = gate_up_(x);
    const int64_t inner = config_.intermediate_size;
    return at::silu(gate_up.narrow(1, 0, inner)).mul_(gate_up.narrow(1, inner, inner));
  }

  Qwen2Config config_;
  RmsNorm input_norm_;
  Linear qkv_;
  Linear attention_out_;
  RmsNorm mlp_norm_;
  Linear gate_up_;
  Linear down_;
};

class Qwen2 : public Model {
 public:
  Qwen2(const WeightScope& weights, const Qwen2Config& config, const ModelSource& source)
      : words_(
            weights
                .take("embed_tokens.weight", {{"vocab_size", config.vocab_size}, config.hidden()})
                .to(source.device)),
        rotary_(config.head_dim, config.theta, source.max_positions, source.device),
        norm_(take_norm(weights.scope("norm"), config, source.device)) {
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
      layers_.emplace_back(weights.scope("layers." + std::to_string(i)), config, source.device);
    }
  }

  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = at::embedding(words_, batch.input_ids);
    for (const Qwen2Layer& layer : layers_) x = layer.forward(x, batch, rotary_);
    return norm_(x);
  }

 private:
  at::Tensor words_;
  Rotary rotary_;
  RmsNorm norm_;
  std::vector<Qwen2Layer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_qwen2(const ModelSource& source) {
  const Qwen2Config config(source);
  const WeightScope root = source.weights.root("embed_tokens.weight", {"", "model."});
  auto model = std::make_unique<Qwen2>(root, config, source);
  source.weights.expect_all_taken({"lm_head.weight", "rotary_emb.inv_freq"});
  return model;
}

}  // namespace encode
