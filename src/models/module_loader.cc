#include "models/module_loader.h"

#include <ATen/ops/cat.h>

namespace encode {

at::Tensor ModuleLoader::tensor(const std::string& name, const std::vector<Dim>& shape) const {
  return scope_.take(name, shape).to(device_);
}

at::Tensor ModuleLoader::table(const std::string& name, const Dim& rows, const Dim& width) const {
  return tensor(name + ".weight", {rows, width});
}

Linear ModuleLoader::linear(const std::string& name, const Dim& out, const Dim& in,
                            const LinearOptions& options) const {
  return fused({{name, out}}, in, options);
}

Linear ModuleLoader::fused(const std::vector<std::pair<std::string, Dim>>& outs, const Dim& in,
                           const LinearOptions& options) const {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  for (const auto& [name, out] : outs) {
    weights.push_back(scope_.view(name + ".weight", {out, in}).to(device_));
    if (options.bias) biases.push_back(tensor(name + ".bias", {out}));
  }
  return make(weights, options.bias ? at::cat(biases) : at::Tensor(), options.activation);
}

Linear ModuleLoader::linear_of(const at::Tensor& weight, const at::Tensor& bias,
                               Activation activation) const {
  return make({weight}, bias, activation);
}

Linear ModuleLoader::gate_after_up(const std::string& name, const Dim& inner, const Dim& in) const {
  const at::Tensor weight = table(name, {"2 x " + inner.label, 2 * inner.size}, in);
  const at::Tensor up = weight.narrow(0, 0, inner.size);
  const at::Tensor gate = weight.narrow(0, inner.size, inner.size);
  return linear_of(at::cat({gate, up}), {}, Activation::kNone);
}

Linear ModuleLoader::make(const std::vector<at::Tensor>& weights, const at::Tensor& bias,
                          Activation activation) const {
  Linear linear(weights, bias, activation, products_);
  if (fp8_ != nullptr) ++(linear.takes_fp8() ? fp8_->quantized : fp8_->kept);
  return linear;
}

LayerNorm ModuleLoader::layer_norm(const std::string& name, const Dim& width, double eps,
                                   bool bias) const {
  // Checkpoints that were converted from TensorFlow, such as bert-base-uncased, have the names
  // gamma and beta.
  const bool converted = !scope_.has(name + ".weight") && scope_.has(name + ".gamma");
  const at::Tensor weight = tensor(name + (converted ? ".gamma" : ".weight"), {width});
  return {weight, bias ? tensor(name + (converted ? ".beta" : ".bias"), {width}) : at::Tensor(),
          eps};
}

RmsNorm ModuleLoader::rms_norm(const std::string& name, const Dim& width, double eps,
                               RmsWeight stored) const {
  const at::Tensor weight = tensor(name + ".weight", {width});
  return {stored == RmsWeight::kPlusOne ? weight.to(at::kFloat).add(1) : weight, eps};
}

}  // namespace encode
