// Makes the layers of nn/layers from the tensors of a checkpoint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/model.h"
#include "models/weights.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"

namespace encode {

// Options of ModuleLoader::linear() and fused().
struct LinearOptions {
  bool bias = true;
  Activation activation = Activation::kNone;
};

// How a checkpoint stores the weight of an RMS norm.
enum class RmsWeight {
  kPlain,
  kPlusOne,  // the norm multiplies by 1 + weight, in float32 (Gemma)
};

// Loads the layers below one scope of a checkpoint to the device. `name` is always the dotted name
// of a layer below the scope. Throws Error kConfig "model.tensor" if a tensor is missing,
// "model.shape" if it has another shape, and "model.dtype" if it is not a floating-point tensor.
// One thread at a time may use the loaders of one Weights.
class ModuleLoader {
 public:
  ModuleLoader(WeightScope scope, const ModelSource& source)
      : ModuleLoader(std::move(scope), source.device, source.products, source.fp8) {}

  ModuleLoader scope(const std::string& name) const {
    return {scope_.scope(name), device_, products_, fp8_};
  }
  bool has(const std::string& name) const { return scope_.has(name); }
  at::Device device() const { return device_; }
  const std::string& origin() const { return scope_.origin(); }  // WeightOptions::origin

  at::Tensor tensor(const std::string& name, const std::vector<Dim>& shape) const;
  // Returns a tensor in float32, on the host.
  at::Tensor float_tensor(const std::string& name, const std::vector<Dim>& shape) const {
    return scope_.take_float(name, shape);
  }
  // Returns the tensor <name>.weight, [rows, width].
  at::Tensor table(const std::string& name, const Dim& rows, const Dim& width) const;
  Linear linear(const std::string& name, const Dim& out, const Dim& in,
                const LinearOptions& options = {}) const;
  // Makes one Linear of several layers that read the same input. The outputs of these layers are
  // side by side in its result.
  Linear fused(const std::vector<std::pair<std::string, Dim>>& outs, const Dim& in,
               const LinearOptions& options) const;
  // Makes a Linear from a weight [out_features, in_features] and a bias [out_features], which are
  // on the device. The bias may be undefined.
  Linear linear_of(const at::Tensor& weight, const at::Tensor& bias, Activation activation) const;
  // Makes GatedMlp::gate_then_up, without a bias, from a tensor that has `up` before the gate:
  // <name>.weight is [2 x inner, in].
  Linear gate_after_up(const std::string& name, const Dim& inner, const Dim& in) const;
  LayerNorm layer_norm(const std::string& name, const Dim& width, double eps,
                       bool bias = true) const;
  RmsNorm rms_norm(const std::string& name, const Dim& width, double eps,
                   RmsWeight stored = RmsWeight::kPlain) const;
  // Loads the layers in the scopes <prefix>0, <prefix>1, and so on. Layer i is the result of
  // load(loader of its scope, more...).
  template <typename Load, typename... More>
  auto layers(const std::string& prefix, int64_t count, const Load& load,
              const More&... more) const {
    std::vector<decltype(load(*this, more...))> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(load(scope(prefix + std::to_string(i)), more...));
    return all;
  }

 private:
  ModuleLoader(WeightScope scope, at::Device device, const ProductOptions& products, Fp8Counts* fp8)
      : scope_(std::move(scope)), device_(device), products_(products), fp8_(fp8) {}

  Linear make(const std::vector<at::Tensor>& weights, const at::Tensor& bias,
              Activation activation) const;

  WeightScope scope_;
  at::Device device_;
  ProductOptions products_;
  Fp8Counts* fp8_;
};

}  // namespace encode
