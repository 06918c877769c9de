#include "engine/head.h"

#include <optional>

#include "engine/dense_activation.h"
#include "models/weights.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/layers/pooling.h"

namespace encode {
namespace {

using Kind = SentenceModule::Kind;

// The default of torch.nn.LayerNorm. The module has no setting for it.
constexpr double kLayerNormEps = 1e-5;

class Dense {
 public:
  Dense(const SentenceModule& module, const OpenedFiles& files, at::Device device,
        const ProductOptions& products)
      : linear_(load(module, files, device, products)),
        activation_(module.activation),
        residual_(module.residual) {
    if (!residual_ || module.in_features == module.out_features) return;
    Weights weights(module.tensors, files, {.dtype = at::kFloat, .origin = module.path});
    const WeightScope root(weights, "");
    const at::Tensor weight = root.take("residual.weight", {{"out_features", module.out_features},
                                                            {"in_features", module.in_features}});
    projection_.emplace(std::vector{weight.to(device)}, at::Tensor(), Activation::kNone, products);
  }

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor out = apply(linear_.in_blocks(x), activation_);
    if (!residual_) return out;
    return out.add(projection_ ? projection_->in_blocks(x) : x);
  }

 private:
  static Linear load(const SentenceModule& module, const OpenedFiles& files, at::Device device,
                     const ProductOptions& products) {
    Weights weights(module.tensors, files, {.dtype = at::kFloat, .origin = module.path});
    const WeightScope root(weights, "");
    const Dim out = {"out_features", module.out_features};
    const at::Tensor weight =
        root.take("linear.weight", {out, {"in_features", module.in_features}}).to(device);
    const at::Tensor bias = module.bias ? root.take("linear.bias", {out}).to(device) : at::Tensor();
    return {{weight}, bias, Activation::kNone, products};
  }

  Linear linear_;
  DenseActivation activation_;
  bool residual_;
  std::optional<Linear> projection_;  // for the residual, if the widths differ
};

LayerNorm load_layer_norm(const SentenceModule& module, const OpenedFiles& files,
                          at::Device device) {
  Weights weights(module.tensors, files, {.dtype = at::kFloat, .origin = module.path});
  const WeightScope root(weights, "");
  const Dim width = {"dimension", module.in_features};
  return {root.take("norm.weight", {width}).to(device), root.take("norm.bias", {width}).to(device),
          kLayerNormEps};
}

at::Tensor normalize(const at::Tensor& x) {
  at::Tensor rows = x;
  l2_normalize(rows);
  return rows;
}

std::function<at::Tensor(const at::Tensor&)> load_step(const SentenceModule& module,
                                                       const OpenedFiles& files, at::Device device,
                                                       const ProductOptions& products) {
  switch (module.kind) {
    case Kind::kDense:
      return Dense(module, files, device, products);
    case Kind::kLayerNorm:
      return load_layer_norm(module, files, device);
    case Kind::kTruncate:
      return [width = module.out_features](const at::Tensor& x) {
        return x.narrow(1, 0, width).contiguous();
      };
    case Kind::kNormalize:
    case Kind::kPooling:
      break;
  }
  return normalize;
}

bool has_weights(const SentenceModule& module) {
  return module.kind == Kind::kDense || module.kind == Kind::kLayerNorm;
}

}  // namespace

EmbeddingHead::EmbeddingHead(const EffectiveResult& effective, const OpenedFiles& files,
                             at::Device device, ProductOptions products)
    : pooling_(effective.pooling) {
  products.format = ProductFormat::kFloat32;
  size_t first_on_host = effective.modules.size();
  while (first_on_host > 1 && !has_weights(effective.modules[first_on_host - 1])) --first_on_host;
  for (size_t i = 1; i < effective.modules.size(); ++i) {
    std::vector<Step>& steps = i < first_on_host ? on_device_ : on_host_;
    steps.push_back(load_step(effective.modules[i], files, device, products));
  }
}

at::Tensor EmbeddingHead::operator()(const at::Tensor& hidden_states,
                                     const PackedInput& batch) const {
  at::Tensor x = pool(hidden_states, batch, pooling_);
  for (const Step& step : on_device_) x = step(x);
  return x.contiguous();
}

void EmbeddingHead::finish(at::Tensor& embeddings) const {
  for (const Step& step : on_host_) embeddings = step(embeddings);
}

}  // namespace encode
