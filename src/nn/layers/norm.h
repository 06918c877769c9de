// Layer normalization (Ba et al. 2016) and root mean square normalization (Zhang & Sennrich 2019).
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "nn/fp8/rows.h"
#include "nn/layers/residual.h"

namespace encode {

class Linear;
enum class CudaKernel;

// Statistics are computed in float32 in every compute type. Immutable; any number of threads.
class Norm {
 public:
  at::Tensor operator()(const at::Tensor& x) const;  // [..., n] -> the same shape
  at::Tensor operator()(ResidualSum x) const;        // of the whole sum, [T, n]
  at::Tensor settle(ResidualSum& x) const;           // the same, and no term waits in x any more
  // The two above for a product to read, quantized by the same kernel where it takes 8-bit floats;
  // the rows themselves are kept for the first, which a residual needs too.
  LinearInput for_product(ResidualSum x, const Linear& next) const;
  LinearInput settle_for_product(ResidualSum& x, const Linear& next) const;

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }
  double eps() const { return eps_; }

 protected:
  // kLayerNorm or kRmsNorm.
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
  // weight [n]; bias the same, or undefined.
  LayerNorm(at::Tensor weight, at::Tensor bias, double eps);
};

class RmsNorm : public Norm {
 public:
  // weight [n]. A float32 weight keeps rows of 16 bits in float32 until the end (Gemma); one of the
  // rows' own type multiplies what has been rounded to that type (Llama, T5).
  RmsNorm(at::Tensor weight, double eps);
  void in_place(const at::Tensor& x) const;  // x [T, heads, n], a view
};

}  // namespace encode
