// Layer normalization (Ba et al. 2016) and root mean square normalization (Zhang & Sennrich 2019).
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/fp8_rows.h"
#include "nn/residual.h"

namespace encode {

class Linear;

// Statistics are computed in float32 in every compute type. Immutable; any number of threads.
class LayerNorm {
 public:
  // weight [hidden_size]; bias the same, or undefined.
  LayerNorm(at::Tensor weight, at::Tensor bias, double eps);
  at::Tensor operator()(const at::Tensor& x) const;  // [T, hidden_size] -> the same shape
  at::Tensor operator()(ResidualSum x) const;        // of the whole sum
  at::Tensor settle(ResidualSum& x) const;           // the same, and no term waits in x any more
  // The two above for a product to read, quantized by the same kernel where it takes 8-bit floats;
  // the rows themselves are kept for the first, which a residual needs too.
  LinearInput for_product(ResidualSum x, const Linear& next) const;
  LinearInput settle_for_product(ResidualSum& x, const Linear& next) const;

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }
  double eps() const { return eps_; }

 private:
  at::Tensor fused(ResidualSum& x, bool keep) const;

  at::Tensor weight_;
  at::Tensor bias_;
  double eps_;
};

class RmsNorm {
 public:
  // weight [n]. A float32 weight keeps rows of 16 bits in float32 until the end (Gemma); one of the
  // rows' own type multiplies what has been rounded to that type (Llama, T5).
  RmsNorm(at::Tensor weight, double eps);
  at::Tensor operator()(const at::Tensor& x) const;  // [..., n] -> the same shape
  at::Tensor operator()(ResidualSum x) const;        // of the whole sum
  at::Tensor settle(ResidualSum& x) const;           // the same, and no term waits in x any more
  LinearInput settle_for_product(ResidualSum& x, const Linear& next) const;  // see LayerNorm
  void in_place(const at::Tensor& x) const;  // x [T, heads, n], a view

 private:
  at::Tensor fused(ResidualSum& x, bool keep) const;

  at::Tensor weight_;
  double eps_;
};

}  // namespace encode
