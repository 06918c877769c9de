#include "engine/head.h"

#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include "nn/pooling.h"
#include "weights/weights.h"

namespace encode {
namespace {

Linear load_dense(const SentenceModule& module, at::Device device) {
  Weights weights(module.tensors, at::kFloat, module.path);
  const WeightScope root = weights.root("linear.weight", {""});
  const Dim out = {"out_features", module.out_features};
  const at::Tensor weight =
      root.take("linear.weight", {out, {"in_features", module.in_features}}).to(device);
  const at::Tensor bias = module.bias ? root.take("linear.bias", {out}).to(device) : at::Tensor();
  return {weight, bias};
}

at::Tensor apply(const at::Tensor& x, DenseActivation activation) {
  switch (activation) {
    case DenseActivation::kTanh:
      return at::tanh(x);
    case DenseActivation::kSigmoid:
      return at::sigmoid(x);
    case DenseActivation::kRelu:
      return activate(x, Activation::kRelu);
    case DenseActivation::kGelu:
      return activate(x, Activation::kGelu);
    case DenseActivation::kIdentity:
      break;
  }
  return x;
}

}  // namespace

EmbeddingHead::EmbeddingHead(const EffectiveResult& effective, at::Device device)
    : modules_(effective.modules) {
  normalize_last_ = modules_.back().kind == SentenceModule::Kind::kNormalize;
  if (normalize_last_) modules_.pop_back();
  for (const SentenceModule& module : modules_) {
    if (module.kind == SentenceModule::Kind::kDense) dense_.push_back(load_dense(module, device));
  }
}

at::Tensor EmbeddingHead::operator()(const at::Tensor& hidden_states,
                                     const PackedInput& batch) const {
  at::Tensor x;
  size_t next_dense = 0;
  for (const SentenceModule& module : modules_) {
    switch (module.kind) {
      case SentenceModule::Kind::kPooling:
        x = pool(hidden_states, batch, module.pooling);
        break;
      case SentenceModule::Kind::kDense:
        x = apply(dense_[next_dense++].in_blocks(x), module.activation);
        break;
      case SentenceModule::Kind::kNormalize:
        l2_normalize(x);
        break;
    }
  }
  return x.contiguous();
}

void EmbeddingHead::finish(at::Tensor& embeddings) const {
  if (normalize_last_) l2_normalize(embeddings);
}

}  // namespace encode
