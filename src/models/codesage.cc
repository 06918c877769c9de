// CodeSage (Zhang et al. 2024), an encoder of source code. It has the layer and the tensor names of
// GPT-2, but every token sees all tokens of its text. Reference: the modeling code that Amazon
// publishes with the weights (modeling_codesage.py).
#include <ATen/ops/embedding.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/config_fields.h"
#include "models/gpt_decoder.h"

namespace encode {
namespace {

// The defaults are from CodeSageConfig.
struct CodeSageConfig : EncoderConfig {
  explicit CodeSageConfig(const ModelSource& source) : EncoderConfig(source) {
    const JsonFields& json = source.config;
    hidden_act = parse_activation_or(json, "activation_function", Activation::kGeluTanh);
    layer_norm_eps = json.number_or("layer_norm_epsilon", 1e-5, kMinNormEps, kMaxNormEps);
    if (json.string_or("position_embedding_type", "absolute") != "absolute")
      json.refuse_variant("position_embedding_type", "absolute");
  }
};

// The layer of CodeSage:
//   y = x + Attention(ln_1(x))
//   x = y + c_proj(act(c_fc(ln_2(y))))
//   Attention(z) = c_proj softmax(q k^T / sqrt(head_dim)) v,  (q, k, v) = c_attn z
// Every projection has a bias. act is activation_function, which is gelu_new.
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using CodeSageLayer = PreNormLayer<LayerNorm>;

CodeSageLayer load_codesage_layer(const ModuleLoader& block, const CodeSageConfig& config) {
  const AttentionShape shape = config.attention();
  const Dim hidden = config.hidden();
  return {.attention_norm = block.layer_norm("ln_1", hidden, config.layer_norm_eps),
          .attention = {load_conv1d(block, "attn.c_attn", {shape.query_key_value(), hidden}),
                        load_conv1d(block, "attn.c_proj", {hidden, shape.query()}), shape},
          .mlp_norm = block.layer_norm("ln_2", hidden, config.layer_norm_eps),
          .mlp = {load_conv1d(block, "mlp.c_fc", {config.inner(), hidden}, config.hidden_act),
                  load_conv1d(block, "mlp.c_proj", {hidden, config.inner()})}};
}

class CodeSage : public Model {
 public:
  CodeSage(const ModuleLoader& root, const CodeSageConfig& config)
      : words_(root.table("wte", {"vocab_size", config.vocab_size}, config.hidden())),
        positions_(root.table("wpe", {"max_position_embeddings", config.max_position_embeddings},
                              config.hidden())),
        layers_(root.layers("h.", config.num_hidden_layers, load_codesage_layer, config)),
        final_norm_(root.layer_norm("ln_f", config.hidden(), config.layer_norm_eps)) {}

  // x = words[ids] + positions; x = layer(x), layer after layer; the result is LayerNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = at::embedding(words_, batch.input_ids);
    x.add_(at::embedding(positions_, batch.position_ids));
    return final_norm_(run_layers(layers_, ResidualSum{x}, {.batch = batch}));
  }

 private:
  at::Tensor words_;
  at::Tensor positions_;
  std::vector<CodeSageLayer> layers_;
  LayerNorm final_norm_;
};

}  // namespace

std::unique_ptr<Model> load_codesage(const ModelSource& source) {
  const CodeSageConfig config(source);
  const ModuleLoader root = {source.weights.root("wte.weight", {"", "transformer."}), source};
  auto model = std::make_unique<CodeSage>(root, config);
  source.weights.expect_all_taken({"lm_head.*", "classifier.*"});
  return model;
}

}  // namespace encode
