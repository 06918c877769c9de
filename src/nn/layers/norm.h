// Layer normalization (Ba et al. 2016) and root mean square normalization (Zhang & Sennrich 2019).
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "nn/fp8/fp8_rows.h"
#include "nn/layers/residual.h"

namespace encode {

class Linear;
enum class CudaKernel;

// A norm over the last dimension. The mean and the variance are computed in float32 for every
// compute type. Immutable; any number of threads may use it. It throws c10::Error if the device
// fails.
class Norm {
 public:
  // Returns x [..., n], normalized.
  at::Tensor operator()(const at::Tensor& x) const;
  // Returns x.sum + x.term, normalized, [T, n].
  at::Tensor operator()(ResidualSum x) const;
  // Returns x.sum + x.term, normalized, and stores x.sum + x.term in x.sum. Afterwards x.term is
  // undefined.
  at::Tensor settle(ResidualSum& x) const;
  // These functions do what operator() and settle() do, for a result that is the input of `next`.
  // If `next` takes 8-bit floats and the CUDA plugin has a kernel for it, this kernel normalizes
  // and quantizes. for_product() then also returns the plain rows, because the next residual is the
  // normalized sum.
  LinearInput for_product(ResidualSum x, const Linear& next) const;
  LinearInput settle_for_product(ResidualSum& x, const Linear& next) const;

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }
  double eps() const { return eps_; }

 protected:
  // `kind` is kLayerNorm or kRmsNorm.
  Norm(CudaKernel kind, at::Tensor weight, at::Tensor bias, double eps);

 private:
  at::Tensor fused(ResidualSum& x, bool keep) const;
  std::optional<LinearInput> fused_fp8(ResidualSum& x, bool keep, const Linear& next) const;
  at::Tensor layer_norm(const at::Tensor& x) const;
  at::Tensor rms_norm(const at::Tensor& x) const;

  CudaKernel kind_;
  at::Tensor weight_;
  at::Tensor bias_;
  double eps_;
};

class LayerNorm : public Norm {
 public:
  // weight is [n]; bias is [n] or undefined.
  LayerNorm(at::Tensor weight, at::Tensor bias, double eps);
};

class RmsNorm : public Norm {
 public:
  // weight is [n]. With a float32 weight, rows of 16 bits stay in float32 until the end (Gemma).
  // With a weight of the same type as the rows, the normalized rows are first rounded to this type
  // and then multiplied by the weight (Llama, T5).
  RmsNorm(at::Tensor weight, double eps);
  // Normalizes x [T, heads, n] in place. x may be a view.
  void in_place(const at::Tensor& x) const;
};

}  // namespace encode
