#include <cmath>

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>

#include "models/architectures.h"
#include "nn/attention.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace encode {
namespace {

struct BertConfig {
  int64_t hidden_size;
  int64_t num_hidden_layers;
  int64_t num_attention_heads;
  int64_t intermediate_size;
  int64_t vocab_size;
  int64_t type_vocab_size;
  int64_t max_position_embeddings;
  double layer_norm_eps;
  Activation hidden_act;

  explicit BertConfig(const JsonFields& json)
      : hidden_size(json.integer("hidden_size", 1, 16384)),
        num_hidden_layers(json.integer("num_hidden_layers", 1, 256)),
        num_attention_heads(json.integer("num_attention_heads", 1, 1024)),
        intermediate_size(json.integer("intermediate_size", 1, 1 << 20)),
        vocab_size(json.integer("vocab_size", 1, 1 << 22)),
        type_vocab_size(json.integer_or("type_vocab_size", 2, 1, 1024)),
        max_position_embeddings(json.integer("max_position_embeddings", 1, 1 << 20)),
        layer_norm_eps(json.number_or("layer_norm_eps", 1e-12, 1e-30, 1)),
        hidden_act(parse_activation(json, "hidden_act")) {
    if (hidden_size % num_attention_heads != 0) {
      json.refuse("num_attention_heads", "a divisor of hidden_size " + std::to_string(hidden_size),
                  std::to_string(num_attention_heads));
    }
    const std::string positions = json.string_or("position_embedding_type", "absolute");
    if (positions != "absolute")
      json.refuse("position_embedding_type", "absolute", "'" + positions + "'");
    if (json.boolean_or("is_decoder", false))
      json.refuse("is_decoder", "false: an encoder", "true");
  }
};

LayerNorm take_layer_norm(const WeightScope& weights, const BertConfig& config, at::Device device) {
  const std::vector<Dim> shape = {{"hidden_size", config.hidden_size}};
  return {weights.take("weight", shape).to(device), weights.take("bias", shape).to(device),
          config.layer_norm_eps};
}

Linear take_linear(const WeightScope& weights, const Dim& out, const Dim& in, at::Device device,
                   Activation activation = Activation::kNone) {
  return {weights.take("weight", {out, in}).to(device), weights.take("bias", {out}).to(device),
          activation};
}

// query, key and value as one product.
Linear take_fused_qkv(const WeightScope& self, const Dim& hidden, at::Device device) {
  std::vector<at::Tensor> weight;
  std::vector<at::Tensor> bias;
  for (const char* name : {"query", "key", "value"}) {
    weight.push_back(self.scope(name).take("weight", {hidden, hidden}));
    bias.push_back(self.scope(name).take("bias", {hidden}));
  }
  return {at::cat(weight).to(device), at::cat(bias).to(device)};
}

class BertLayer {
 public:
  BertLayer(const WeightScope& weights, const BertConfig& config, at::Device device)
      : heads_(config.num_attention_heads),
        head_dim_(config.hidden_size / heads_),
        qkv_(take_fused_qkv(weights.scope("attention.self"), {"hidden_size", config.hidden_size},
                            device)),
        attention_out_(take_linear(weights.scope("attention.output.dense"),
                                   {"hidden_size", config.hidden_size},
                                   {"hidden_size", config.hidden_size}, device)),
        attention_norm_(
            take_layer_norm(weights.scope("attention.output.LayerNorm"), config, device)),
        up_(take_linear(weights.scope("intermediate.dense"),
                        {"intermediate_size", config.intermediate_size},
                        {"hidden_size", config.hidden_size}, device, config.hidden_act)),
        down_(take_linear(weights.scope("output.dense"), {"hidden_size", config.hidden_size},
                          {"intermediate_size", config.intermediate_size}, device)),
        output_norm_(take_layer_norm(weights.scope("output.LayerNorm"), config, device)) {}

  // x = LayerNorm(x + Attention(x)); x = LayerNorm(x + down(act(up(x)))).
  at::Tensor forward(const at::Tensor& input, const PackedInput& batch) const {
    const at::Tensor x = attention_norm_(attention_out_.add(attention(input, batch), input));
    return output_norm_(down_.add(up_(x), x));
  }

 private:
  at::Tensor attention(const at::Tensor& x, const PackedInput& batch) const {
    const at::Tensor qkv = qkv_(x).view({x.size(0), 3 * heads_, head_dim_});
    const AttentionInput input = {.query = qkv.narrow(1, 0, heads_),
                                  .key = qkv.narrow(1, heads_, heads_),
                                  .value = qkv.narrow(1, 2 * heads_, heads_)};
    return varlen_attention(input, batch, {.scale = 1 / std::sqrt(static_cast<double>(head_dim_))});
  }

  int64_t heads_;
  int64_t head_dim_;
  Linear qkv_;
  Linear attention_out_;
  LayerNorm attention_norm_;
  Linear up_;
  Linear down_;
  LayerNorm output_norm_;
};

class Bert : public Model {
 public:
  Bert(const WeightScope& weights, const BertConfig& config, at::Device device)
      : words_(take_table(weights, "word_embeddings", {"vocab_size", config.vocab_size}, config)
                   .to(device)),
        positions_(take_table(weights, "position_embeddings",
                              {"max_position_embeddings", config.max_position_embeddings}, config)
                       .to(device)),
        // Every token is of segment 0.
        segment_(take_table(weights, "token_type_embeddings",
                            {"type_vocab_size", config.type_vocab_size}, config)
                     .select(0, 0)
                     .to(device)),
        embeddings_norm_(take_layer_norm(weights.scope("embeddings.LayerNorm"), config, device)) {
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
      layers_.emplace_back(weights.scope("encoder.layer." + std::to_string(i)), config, device);
    }
  }

  at::Tensor forward(const PackedInput& batch) const override {
    // The order of the sum is the reference's: words + segment, then positions.
    at::Tensor x = at::embedding(words_, batch.input_ids).add_(segment_);
    x.add_(at::embedding(positions_, batch.position_ids));
    x = embeddings_norm_(x);
    for (const BertLayer& layer : layers_) x = layer.forward(x, batch);
    return x;
  }

 private:
  static at::Tensor take_table(const WeightScope& weights, const std::string& name, const Dim& rows,
                               const BertConfig& config) {
    return weights.scope("embeddings." + name)
        .take("weight", {rows, {"hidden_size", config.hidden_size}});
  }

  at::Tensor words_;
  at::Tensor positions_;
  at::Tensor segment_;
  LayerNorm embeddings_norm_;
  std::vector<BertLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> load_bert(const ModelSource& source) {
  const BertConfig config(source.config);
  const WeightScope root = source.weights.root("embeddings.word_embeddings.weight", {"", "bert."});
  auto model = std::make_unique<Bert>(root, config, source.device);
  // The pooler and the heads of pre-training are not part of an embedding.
  source.weights.expect_all_taken(
      {"pooler.*", "bert.pooler.*", "cls.*", "embeddings.position_ids"});
  return model;
}

}  // namespace encode
