#include "models/gpt_decoder.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include "model_dir/limits.h"

namespace encode {
namespace {

// Returns an order for the rows of a projection [heads x head_dim, ..]. In this order each head has
// the even elements of its rotated part first, then the odd elements, then the rest of the head.
at::Tensor halves_first(const AttentionShape& shape, int64_t rotated) {
  const at::Tensor head =
      at::cat({at::arange(0, rotated, 2, at::kLong), at::arange(1, rotated, 2, at::kLong),
               at::arange(rotated, shape.head_dim, at::kLong)});
  const at::Tensor first =
      at::arange(shape.num_attention_heads, at::kLong).mul(shape.head_dim).unsqueeze(1);
  return first.add(head.unsqueeze(0)).flatten();
}

}  // namespace

GptConfig::GptConfig(const ModelSource& source, const GptKeys& keys, Activation default_act)
    : ModelSizes(source.sizes),
      attention(AttentionShape::of(*this)),
      layer_norm_eps(source.config.number_or(keys.norm_eps, 1e-5, kMinNormEps, kMaxNormEps)),
      hidden_act(parse_activation_or(source.config, keys.activation, default_act)) {}

Linear load_conv1d(const ModuleLoader& scope, const std::string& name, const Conv1dShape& shape,
                   Activation activation) {
  return scope.linear_of(scope.table(name, shape.in, shape.out).t().contiguous(),
                         scope.tensor(name + ".bias", {shape.out}), activation);
}

Linear load_qkv_by_head(const ModuleLoader& scope, const std::string& name,
                        const AttentionShape& shape, bool bias) {
  const auto by_kind = [&shape](const at::Tensor& tensor) {
    return tensor.view({shape.num_attention_heads, 3, shape.head_dim, -1})
        .transpose(0, 1)
        .reshape(tensor.sizes());
  };
  const Dim rows = shape.query_key_value();
  return scope.linear_of(by_kind(scope.table(name, rows, shape.hidden())),
                         bias ? by_kind(scope.tensor(name + ".bias", {rows})) : at::Tensor(),
                         Activation::kNone);
}

Linear load_qkv_of_neighbours(const ModuleLoader& scope, const AttentionShape& shape,
                              int64_t rotated) {
  const at::Tensor order = halves_first(shape, rotated).to(scope.device());
  const auto table = [&](const char* name) {
    return scope.table(name, shape.query(), shape.hidden());
  };
  return scope.linear_of(at::cat({table("q_proj").index_select(0, order),
                                  table("k_proj").index_select(0, order), table("v_proj")}),
                         {}, Activation::kNone);
}

FeedForward load_mlp(const ModuleLoader& mlp, const MlpNames& names, const GptConfig& config) {
  return {mlp.linear(names.up, config.inner(), config.hidden(), {.activation = config.hidden_act}),
          mlp.linear(names.down, config.hidden(), config.inner())};
}

}  // namespace encode
