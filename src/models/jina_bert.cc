// JinaBERT, the model of jina-embeddings-v2 (Günther et al. 2023). It is BERT with a gated MLP, and
// with ALiBi instead of learned positions. jina-embeddings-v2-base-code, which its authors call
// jina-bert-v2-qk-post-norm, also has norms of queries and keys, one more norm in each layer, and
// other names of tensors. References: the modeling code that Jina AI publishes with the weights,
// and jina_code.rs of Hugging Face text-embeddings-inference.
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

// The layer of Jina BERT:
//   y = LayerNorm(x + Attention(x))
//   x = LayerNorm(y + wo(act(gate) * up)),  (gate, up) = gated_layers(y)
//   Attention(x) = Wo softmax(q k^T / sqrt(head_dim) - slope of the head x |distance|) v + bo
// q, k and v are projections of x with biases. wo has a bias, gated_layers has none. act is gelu if
// feed_forward_type is "geglu", and relu if it is "reglu".
// PostNormLayer::forward() (models/layers.h) computes the first two lines: after each half it adds
// the residual, and then normalizes the sum.
using JinaLayer = PostNormLayer<>;

JinaLayer load_jina_layer(const ModuleLoader& layer, const EncoderConfig& config,
                          Activation activation) {
  const AttentionShape shape = config.attention();
  const ModuleLoader self = layer.scope("attention.self");
  const Dim gate_up = {"2 x intermediate_size", 2 * config.intermediate_size};
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {
      .attention = {self.fused({{"query", shape.query()},
                                {"key", shape.key_value()},
                                {"value", shape.key_value()}},
                               config.hidden(), {}),
                    layer.linear("attention.output.dense", config.hidden(), shape.query()), shape},
      .attention_norm = norm("attention.output.LayerNorm"),
      .mlp = FeedForward({.gate_then_up = layer.linear("mlp.gated_layers", gate_up, config.hidden(),
                                                       {.bias = false}),
                          .down = layer.linear("mlp.wo", config.hidden(), config.inner()),
                          .gate_activation = activation}),
      .mlp_norm = norm("mlp.layernorm")};
}

Activation gate_of(const JsonFields& json) {
  const std::string type = json.string_or("feed_forward_type", "original");
  if (type != "geglu" && type != "reglu")
    json.refuse_variant("feed_forward_type", "geglu or reglu");
  return type == "geglu" ? Activation::kGelu : Activation::kRelu;
}

//   Attention(x) = Wo softmax(s) v + bo
//   s = LayerNorm(q) LayerNorm(k)^T / sqrt(head_dim) - slope of the head x |distance|
// q, k and v are projections of x with biases. The norms are over all heads of a token together.
class NormedAttention {
 public:
  NormedAttention(const ModuleLoader& attention, const EncoderConfig& config)
      : shape_(config.attention()),
        qkv_(attention.fused({{"self.query", shape_.query()},
                              {"self.key", shape_.key_value()},
                              {"self.value", shape_.key_value()}},
                             config.hidden(), {})),
        query_norm_(
            attention.layer_norm("self.layer_norm_q", shape_.query(), config.layer_norm_eps)),
        key_norm_(
            attention.layer_norm("self.layer_norm_k", shape_.key_value(), config.layer_norm_eps)),
        out_(attention.linear("output.dense", config.hidden(), shape_.query())) {}

  Attended attend(const LinearInput& x, const LayerContext& context) const {
    const int64_t width = shape_.query().size;
    const at::Tensor product = qkv_(x);
    const AttentionInput input = {.query = by_head(query_norm_(part(product, 0, width))),
                                  .key = by_head(key_norm_(part(product, width, width))),
                                  .value = by_head(part(product, 2 * width, width))};
    return {.heads = varlen_attention(input, context.batch,
                                      {.scale = shape_.scale, .relative = context.relative}),
            .residual = x.rows};
  }
  // Returns residual + Wo heads.
  ResidualSum add(const Attended& attended) const {
    return out_.add(attended.heads, attended.residual);
  }
  // Returns norm(x), the result of the layer, as layer_result() does.
  LinearInput result(const Norm& norm, ResidualSum x, const LayerContext& context) const {
    return layer_result(norm, std::move(x), qkv_, context);
  }

 private:
  static at::Tensor part(const at::Tensor& product, int64_t begin, int64_t width) {
    return product.narrow(1, begin, width).contiguous();
  }
  at::Tensor by_head(const at::Tensor& rows) const {
    return rows.view({rows.size(0), shape_.num_attention_heads, shape_.head_dim});
  }

  AttentionShape shape_;
  Linear qkv_;
  LayerNorm query_norm_;
  LayerNorm key_norm_;
  Linear out_;
};

struct CodeLayer {
  NormedAttention attention;
  LayerNorm output_norm;
  LayerNorm attention_norm;
  FeedForward mlp;
  LayerNorm mlp_norm;

  //   a = LayerNorm(x + Attention(x))
  //   y = LayerNorm(x + a)
  //   x = LayerNorm(y + down_layer(up * act(gate))),  (up, gate) = up_gated_layer(y)
  // down_layer has a bias, up_gated_layer has none. act is hidden_act, which is gelu in the
  // published model.
  LinearInput forward(const LinearInput& x, const LayerContext& context) const {
    const Attended attended = attention.attend(x, context);
    return finish_rows(context, attended, [&](const Attended& rows) {
      at::Tensor x_again = rows.residual.clone();  // attention.add() may overwrite the residual
      const LinearInput y = mlp.input(
          attention_norm, {.sum = std::move(x_again), .term = output_norm(attention.add(rows))});
      return attention.result(mlp_norm, mlp.add(y), context);
    });
  }
};

CodeLayer load_code_layer(const ModuleLoader& layer, const EncoderConfig& config) {
  const ModuleLoader mlp = layer.scope("mlp");
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, config.hidden(), config.layer_norm_eps);
  };
  return {.attention = {layer.scope("attention"), config},
          .output_norm = norm("attention.output.LayerNorm"),
          .attention_norm = norm("layer_norm_1"),
          .mlp = FeedForward(
              {.gate_then_up = mlp.gate_after_up("up_gated_layer", config.inner(), config.hidden()),
               .down = mlp.linear("down_layer", config.hidden(), config.inner()),
               .gate_activation = config.hidden_act}),
          .mlp_norm = norm("layer_norm_2")};
}

template <typename Layer>
class JinaBert : public Model {
 public:
  JinaBert(const ModuleLoader& root, const EncoderConfig& config, const ModelSource& source,
           std::vector<Layer> layers)
      : embeddings_(root.scope("embeddings"), config, {.width = config.hidden()}),
        alibi_(alibi_bias(config.num_attention_heads, source.max_positions, source.device)),
        layers_(std::move(layers)) {}

  // x = LayerNorm(words[ids] + segments[type_ids]); x = layer(x), layer after layer.
  at::Tensor forward(const PackedInput& batch) const override {
    const at::Tensor x = embeddings_(batch);
    const RelativePositions alibi = for_batch(alibi_, batch, x);
    return run_layers(layers_, LinearInput(x), {.batch = batch, .relative = &alibi}).rows;
  }

 private:
  BertEmbeddings embeddings_;
  RelativePositions alibi_;
  std::vector<Layer> layers_;
};

// Makes the model of the layers that load_layer(loader, config, options...) loads.
template <typename Load, typename... Options>
std::unique_ptr<Model> load_with(const ModuleLoader& root, const ModelSource& source,
                                 const Load& load_layer, const Options&... options) {
  const EncoderConfig config(source);
  auto layers =
      root.layers("encoder.layer.", config.num_hidden_layers, load_layer, config, options...);
  auto model = std::make_unique<JinaBert<typename decltype(layers)::value_type>>(
      root, config, source, std::move(layers));
  source.weights.expect_all_taken({"pooler.*", "bert.pooler.*", "cls.*", "position_ids"});
  return model;
}

}  // namespace

std::unique_ptr<Model> load_jina_bert(const ModelSource& source) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "bert."}), source};
  if (root.has("encoder.layer.0.attention.self.layer_norm_q.weight"))
    return load_with(root, source, load_code_layer);
  return load_with(root, source, load_jina_layer, gate_of(source.config));
}

}  // namespace encode
