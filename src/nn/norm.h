// Layer normalization (Ba et al. 2016) and root mean square normalization (Zhang & Sennrich 2019).
#pragma once

#include <ATen/core/Tensor.h>

namespace encode {

// Statistics are computed in float32 in every compute type. Immutable; any number of threads.
class LayerNorm {
 public:
  LayerNorm(at::Tensor weight, at::Tensor bias, double eps);  // weight, bias [hidden_size]
  at::Tensor operator()(const at::Tensor& x) const;           // [T, hidden_size] -> the same shape

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  double eps_;
};

class RmsNorm {
 public:
  RmsNorm(at::Tensor weight, double eps);            // weight [hidden_size]
  at::Tensor operator()(const at::Tensor& x) const;  // [T, hidden_size] -> the same shape

 private:
  at::Tensor weight_;
  double eps_;
};

}  // namespace encode
