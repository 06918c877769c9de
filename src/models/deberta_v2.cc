// DeBERTa, DeBERTa-v2 and DeBERTa-v3 (He et al. 2021), which are BERT with disentangled attention.
// The first version has one weight for queries, keys and values, and a bucket for each distance.
// References: modeling_deberta.py and modeling_deberta_v2.py of Hugging Face transformers.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include "model_dir/extra_weights.h"
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

struct DebertaConfig {
  EncoderConfig encoder;
  DisentangledPositions positions;
  bool normalize_positions;
  bool fused_projections = false;  // the first version: in_proj, q_bias and v_bias

  explicit DebertaConfig(const ModelSource& source)
      : encoder(source, {.layer_norm_eps = 1e-7}),  // as in DebertaV2Config
        positions(source.config),
        normalize_positions(source.config.string_or("norm_rel_ebd", "none").find("layer_norm") !=
                            std::string::npos) {
    const JsonFields& json = source.config;
    if (json.integer_or("conv_kernel_size", 0, 0, 1024) > 0)
      json.refuse_variant("conv_kernel_size", "0: convolutions are not supported");
    const int64_t width = json.integer_or("embedding_size", encoder.hidden_size, 1, kMaxHiddenSize);
    if (width != encoder.hidden_size)
      json.refuse_variant("embedding_size", fmt::format("hidden_size {}", encoder.hidden_size));
  }

  // The number of products by which a score is scaled. The first version counts every entry of
  // pos_att_type.
  int64_t terms() const {
    if (fused_projections) return 1 + static_cast<int64_t>(positions.terms.size());
    return 1 + (positions.content_to_position ? 1 : 0) + (positions.position_to_content ? 1 : 0);
  }

  Dim relative_rows() const { return {"2 x position_buckets", 2 * positions.span}; }
};

// Disentangled attention (He et al. 2021, equation 4). The score of query i and key j is
//   (Qc_i Kc_j^T + Qc_i Kr_d^T + Kc_j Qr_d^T) / sqrt(head_dim x terms),  d = d(i,j)
// Qc and Kc are projections of the tokens, Qr and Kr are projections of the relative positions, and
// d(i,j) is the bucket of the distance i - j. (The paper has d(j,i) in the third product, but the
// reference computes it with d(i,j).) pos_att_type says which products with positions are in the
// sum: the second if it has "c2p", the third if it has "p2c". `terms` is the number of products in
// the sum. If relative_attention is false, the sum is the first product alone, but `terms` does not
// change.
class DisentangledAttention {
 public:
  // `positions` are the embeddings of the relative positions, [2 x span, hidden_size]. They are
  // undefined if relative_attention is false.
  DisentangledAttention(const ModuleLoader& self, Linear out, const DebertaConfig& config,
                        const at::Tensor& positions)
      : shape_(config.encoder.attention()),
        qkv_(config.fused_projections ? fused_projections(self)
                                      : self.fused({{"query_proj", shape_.query()},
                                                    {"key_proj", shape_.key_value()},
                                                    {"value_proj", shape_.key_value()}},
                                                   shape_.hidden(), {})),
        out_(std::move(out)) {
    shape_.scale = 1 / std::sqrt(static_cast<double>(shape_.head_dim * config.terms()));
    if (config.encoder.relative()) project_positions(self, config, positions);
  }

  // Returns the heads and the residual x. context.relative says only which column of the tables
  // each pair of tokens reads. The tables of_query and of_key depend on the tokens, so they are
  // made here.
  Attended attend(const LinearInput& x, const LayerContext& context) const {
    const int64_t heads = shape_.num_attention_heads;
    const at::Tensor product = qkv_(x);
    const at::Tensor qkv = product.view({product.size(0), 3 * heads, shape_.head_dim});
    const AttentionInput input = {.query = qkv.narrow(1, 0, heads),
                                  .key = qkv.narrow(1, heads, heads),
                                  .value = qkv.narrow(1, 2 * heads, heads)};
    if (context.relative == nullptr)
      return {.heads = varlen_attention(input, context.batch, {.scale = shape_.scale}),
              .residual = x.rows};
    RelativePositions relative = *context.relative;
    if (position_keys_.defined()) relative.of_query = products(input.query, position_keys_);
    if (position_queries_.defined()) relative.of_key = products(input.key, position_queries_);
    return {.heads = varlen_attention(input, context.batch,
                                      {.scale = shape_.scale, .relative = &relative}),
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
  // Sets the vectors of the relative positions.
  void project_positions(const ModuleLoader& self, const DebertaConfig& config,
                         const at::Tensor& positions) {
    at::Tensor queries;
    at::Tensor keys;
    if (config.positions.share_att_key) {
      const at::Tensor projected = qkv_.in_blocks(positions);
      queries = projected.narrow(1, 0, shape_.query().size);
      keys = projected.narrow(1, shape_.query().size, shape_.key_value().size);
    } else {
      const auto project = [&](const char* name, bool bias) {
        return self.linear(name, shape_.query(), shape_.hidden(), {.bias = bias})
            .in_blocks(positions);
      };
      const bool first = config.fused_projections;
      if (config.positions.content_to_position)
        keys = project(first ? "pos_proj" : "pos_key_proj", !first);
      if (config.positions.position_to_content)
        queries = project(first ? "pos_q_proj" : "pos_query_proj", true);
    }
    if (config.positions.content_to_position) position_keys_ = by_head(keys);
    if (config.positions.position_to_content) position_queries_ = by_head(queries);
  }

  // in_proj has the query, the key and the value of the first head, then the same three of the
  // second head, and so on. Keys have no bias.
  Linear fused_projections(const ModuleLoader& self) const {
    const Dim width = shape_.query();
    const at::Tensor interleaved =
        self.table("in_proj", shape_.query_key_value(), shape_.hidden())
            .view({shape_.num_attention_heads, 3, shape_.head_dim, shape_.hidden_size});
    const at::Tensor query_bias = self.tensor("q_bias", {width});
    return self.linear_of(
        interleaved.transpose(0, 1).reshape({3 * width.size, shape_.hidden_size}),
        at::cat({query_bias, at::zeros_like(query_bias), self.tensor("v_bias", {width})}),
        Activation::kNone);
  }

  // [P, heads x head_dim] -> [heads, head_dim, P].
  at::Tensor by_head(const at::Tensor& rows) const {
    return rows.contiguous()
        .view({rows.size(0), shape_.num_attention_heads, shape_.head_dim})
        .permute({1, 2, 0})
        .contiguous();
  }

  // Returns the products of all token vectors with all position vectors, [T, heads, P]. On CPU they
  // are computed in blocks of kProductBlockRows rows, because LibTorch may sum in another order for
  // another number of rows.
  static at::Tensor products(const at::Tensor& tokens, const at::Tensor& positions) {
    const int64_t block = tokens.device().is_cpu() ? kProductBlockRows : tokens.size(0);
    std::vector<at::Tensor> parts;
    for (int64_t begin = 0; begin < tokens.size(0); begin += block) {
      const int64_t count = std::min(block, tokens.size(0) - begin);
      parts.push_back(
          at::bmm(tokens.narrow(0, begin, count).transpose(0, 1), positions).transpose(0, 1));
    }
    return parts.size() == 1 ? parts.front().contiguous() : at::cat(parts);
  }

  AttentionShape shape_;
  Linear qkv_;
  Linear out_;
  at::Tensor position_keys_;     // [heads, head_dim, 2 x span]
  at::Tensor position_queries_;  // the same shape
};

// The layer of DeBERTa:
//   y = LayerNorm(x + DisentangledAttention(x))
//   x = LayerNorm(y + MLP(y)),  MLP(y) = W2 act(W1 y + b1) + b2
// act is hidden_act, which is gelu in the paper.
// PostNormLayer::forward() (models/layers.h) computes the first two lines: after each half it adds
// the residual, and then normalizes the sum.
using DebertaLayer = PostNormLayer<DisentangledAttention>;

DebertaLayer load_deberta_layer(const ModuleLoader& layer, const DebertaConfig& config,
                                const at::Tensor& positions) {
  const EncoderConfig& encoder = config.encoder;
  const auto norm = [&](const char* name) {
    return layer.layer_norm(name, encoder.hidden(), encoder.layer_norm_eps);
  };
  return {.attention = {layer.scope("attention.self"),
                        layer.linear("attention.output.dense", encoder.hidden(),
                                     encoder.attention().query()),
                        config, positions},
          .attention_norm = norm("attention.output.LayerNorm"),
          .mlp = {layer.linear("intermediate.dense", encoder.inner(), encoder.hidden(),
                               {.activation = encoder.hidden_act}),
                  layer.linear("output.dense", encoder.hidden(), encoder.inner())},
          .mlp_norm = norm("output.LayerNorm")};
}

class DebertaV2 : public Model {
 public:
  DebertaV2(const ModuleLoader& root, const DebertaConfig& config, const ModelSource& source)
      : embeddings_(root.scope("embeddings"), config.encoder, {.width = config.encoder.hidden()}) {
    const ModuleLoader encoder = root.scope("encoder");
    at::Tensor positions;
    if (config.encoder.relative()) {
      relative_ = disentangled_positions(config.positions.span, config.positions.max_distance,
                                         source.max_positions, source.device);
      positions = encoder.table("rel_embeddings", config.relative_rows(), config.encoder.hidden());
      if (config.normalize_positions) {
        positions = encoder.layer_norm("LayerNorm", config.encoder.hidden(),
                                       config.encoder.layer_norm_eps)(positions);
      }
    }
    layers_ = encoder.layers("layer.", config.encoder.num_hidden_layers, load_deberta_layer, config,
                             positions);
  }

  // x = LayerNorm(words[ids] + segments[type_ids] + positions); x = layer(x), layer after layer.
  at::Tensor forward(const PackedInput& batch) const override {
    const LinearInput x = embeddings_(batch);
    const RelativePositions* relative = relative_ ? &*relative_ : nullptr;
    return run_layers(layers_, x, {.batch = batch, .relative = relative}).rows;
  }

 private:
  BertEmbeddings embeddings_;
  std::optional<RelativePositions> relative_;  // only the columns; each layer adds its tables
  std::vector<DebertaLayer> layers_;
};

std::unique_ptr<Model> load(const ModelSource& source, const DebertaConfig& config) {
  const ModuleLoader root = {
      source.weights.root("embeddings.word_embeddings.weight", {"", "deberta."}), source};
  auto model = std::make_unique<DebertaV2>(root, config, source);
  source.weights.expect_all_taken({"pooler.*", "deberta.pooler.*", "lm_predictions.*",
                                   "mask_predictions.*", "cls.*", "position_ids",
                                   "embeddings.position_embeddings.weight"});
  return model;
}

}  // namespace

std::unique_ptr<Model> load_deberta(const ModelSource& source) {
  for (const char* key : {"share_att_key", "talking_head"}) {
    if (source.config.boolean_or(key, false)) source.config.refuse_variant(key, "false");
  }
  for (const char* key : {"position_buckets", "norm_rel_ebd"}) {
    if (source.config.has(key))
      source.config.refuse_variant(key, "null, or no such field: only DeBERTa-v2 has it");
  }
  DebertaConfig config(source);
  config.fused_projections = true;
  return load(source, config);
}

std::unique_ptr<Model> load_deberta_v2(const ModelSource& source) {
  return load(source, DebertaConfig(source));
}

}  // namespace encode
