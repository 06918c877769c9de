// NV-Embed (Lee et al. 2025): a bidirectional Mistral and, after it, attention of every token to a
// table of latent vectors. Reference: the modeling code that NVIDIA publishes with NV-Embed-v2
// (modeling_nvembed.py). Pooling is a separate module.
#include <cmath>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include "model_dir/extra_weights.h"
#include "model_dir/supported_architectures.h"
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

constexpr double kNormEps = 1e-5;  // the default of torch.nn.LayerNorm, as in the reference

struct LatentConfig : LatentSizes {
  using LatentSizes::LatentSizes;

  Dim width() const { return {"hidden_dim", hidden}; }
  Dim inner() const { return {"num_cross_heads x cross_dim_head", inner_width()}; }
  Dim scores() const { return {"num_cross_heads x num_latents_value", heads * latents}; }
};

//   y = x + sum over heads h of Wo_h softmax(q_h k_h^T / sqrt(head_dim)) v_h
//   q = Wq LayerNorm(x),  (k, v) = Wkv LayerNorm(latents)
// Wo_h has the columns of Wo for head h. The latents are the same for every token, so k and v are
// constants. Each head therefore needs only two products, each with a constant matrix:
//   scores_h = LayerNorm(x) (k_h Wq_h / sqrt(head_dim))^T
//   y = x + sum over heads h of softmax(scores_h) (Wo_h v_h^T)^T
class LatentAttention {
 public:
  LatentAttention(const ModuleLoader& block, const at::Tensor& latents, const LatentConfig& config)
      : norm_(block.layer_norm("norm", config.width(), kNormEps)),
        scores_(block.linear_of(score_weight(block, latents, config), {}, Activation::kNone)),
        values_(block.linear_of(value_weight(block, latents, config), {}, Activation::kNone)),
        heads_(config.heads) {}

  at::Tensor add(const at::Tensor& x) const {
    const at::Tensor scores = scores_(norm_(x));
    const at::Tensor weights =
        at::softmax(scores.view({scores.size(0), heads_, -1}), -1, at::kFloat);
    return values_.add(weights.to(x.scalar_type()).view_as(scores), x).total();
  }

 private:
  // Returns the keys (half 0 of to_kv) or the values (half 1) of the latents, [latents, heads,
  // head_dim] float32.
  static at::Tensor of_latents(const ModuleLoader& block, const at::Tensor& latents,
                               const LatentConfig& config, int64_t half) {
    const Dim both = {"2 x num_cross_heads x cross_dim_head", 2 * config.inner().size};
    const LayerNorm norm = block.layer_norm("norm_context", config.width(), kNormEps);
    const at::Tensor normed =
        at::layer_norm(latents.to(at::kFloat), {config.hidden}, norm.weight().to(at::kFloat),
                       norm.bias().to(at::kFloat), kNormEps);
    const at::Tensor weight = block.table("fn.to_kv", both, config.width())
                                  .narrow(0, half * config.inner().size, config.inner().size);
    return at::matmul(normed, weight.to(at::kFloat).t())
        .view({config.latents, config.heads, config.head_dim});
  }

  static at::Tensor score_weight(const ModuleLoader& block, const at::Tensor& latents,
                                 const LatentConfig& config) {
    const at::Tensor query = block.table("fn.to_q", config.inner(), config.width());
    const at::Tensor keys = of_latents(block, latents, config, 0);
    std::vector<at::Tensor> heads;
    for (int64_t head = 0; head < config.heads; ++head) {
      const at::Tensor own = query.narrow(0, head * config.head_dim, config.head_dim);
      heads.push_back(at::matmul(keys.select(1, head), own.to(at::kFloat)));
    }
    return at::cat(heads)
        .div(std::sqrt(static_cast<double>(config.head_dim)))
        .to(query.scalar_type());
  }

  static at::Tensor value_weight(const ModuleLoader& block, const at::Tensor& latents,
                                 const LatentConfig& config) {
    const at::Tensor out = block.table("fn.to_out", config.width(), config.inner());
    const at::Tensor values = of_latents(block, latents, config, 1);
    std::vector<at::Tensor> heads;
    for (int64_t head = 0; head < config.heads; ++head) {
      const at::Tensor own = out.narrow(1, head * config.head_dim, config.head_dim);
      heads.push_back(at::matmul(own.to(at::kFloat), values.select(1, head).t()));
    }
    return at::cat(heads, 1).to(out.scalar_type());
  }

  LayerNorm norm_;
  Linear scores_;  // [heads x latents] outputs
  Linear values_;
  int64_t heads_;
};

// The MLP of the reference has `up` before the gate, but GatedMlp needs the gate first, and both
// have biases. Its width is 4 x hidden_dim.
FeedForward load_latent_mlp(const ModuleLoader& net, const Dim& hidden) {
  const Dim inner = {"4 x hidden_dim", 4 * hidden.size};
  const Dim both = {"8 x hidden_dim", 8 * hidden.size};
  const auto gate_first = [&inner](const at::Tensor& rows) {
    return at::cat({rows.narrow(0, inner.size, inner.size), rows.narrow(0, 0, inner.size)});
  };
  return FeedForward(
      {.gate_then_up = net.linear_of(gate_first(net.table("0", both, hidden)),
                                     gate_first(net.tensor("0.bias", {both})), Activation::kNone),
       .down = net.linear("2", hidden, inner),
       .gate_activation = Activation::kGelu});
}

// The part after the decoder:
//   y = x + LatentAttention(x); the result is y + MLP(LayerNorm(y))
//   MLP(z) = W2 (up(z) * gelu(gate(z))) + b2
struct LatentParts {
  LatentAttention attention;
  LayerNorm mlp_norm;
  FeedForward mlp;

  LatentParts(const ModuleLoader& model, const LatentConfig& config)
      : attention(model.scope("cross_attend_blocks.0"),
                  model.tensor("latents", {{"num_latents_value", config.latents}, config.width()}),
                  config),
        mlp_norm(model.layer_norm("cross_attend_blocks.1.norm", config.width(), kNormEps)),
        mlp(load_latent_mlp(model.scope("cross_attend_blocks.1.fn.net"), config.width())) {}

  at::Tensor finish(const at::Tensor& x) const {
    return mlp.add(mlp_norm, {attention.add(x)}).total();
  }
};

class NvEmbed : public Model {
 public:
  NvEmbed(std::unique_ptr<Model> decoder, std::unique_ptr<LatentParts> parts)
      : decoder_(std::move(decoder)), parts_(std::move(parts)) {}

  at::Tensor forward(const PackedInput& batch) const override {
    const at::Tensor x = decoder_->forward(batch);
    if (!batch.pooled_rows.defined()) return parts_->finish(x);
    // The number of pooled rows varies, so the products run in blocks, as in finish_rows().
    std::vector<at::Tensor> blocks;
    for (const at::Tensor& rows : x.split(kProductBlockRows))
      blocks.push_back(parts_->finish(rows));
    return at::cat(blocks);
  }

 private:
  std::unique_ptr<Model> decoder_;
  std::unique_ptr<LatentParts> parts_;
};

}  // namespace

std::unique_ptr<Model> load_nv_embed(const ModelSource& source) {
  const LatentConfig config(source.config);
  // The decoder is loaded last, because it reports every tensor that nothing has loaded.
  const ModuleLoader latent_model = {source.weights.root("latents", {"latent_attention_model."}),
                                     source};
  auto parts = std::make_unique<LatentParts>(latent_model, config);
  const JsonFields text = text_config(entry_of(source.sizes.architecture).traits, source.config);
  const ModelSource decoder = {.config = text,
                               .document = source.document.at("text_config"),
                               .weights = source.weights,
                               .device = source.device,
                               .products = source.products,
                               .fp8 = source.fp8,
                               .max_positions = source.max_positions,
                               .causal = source.causal,
                               .sizes = source.sizes};
  return std::make_unique<NvEmbed>(load_llama(decoder), std::move(parts));
}

}  // namespace encode
