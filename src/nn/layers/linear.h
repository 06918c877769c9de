// y = x W^T + b, with an activation or the addition of a residual. The device computes them in one
// kernel if it can.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/cpu/packed_linear.h"
#include "nn/fp8/linear.h"
#include "nn/layers/activation.h"
#include "nn/layers/product_format.h"
#include "nn/layers/residual.h"

namespace encode {

// On CPU, each product of LibTorch runs on exactly this number of token rows. For another number of
// rows oneDNN may choose another kernel, and so another order of summation; the bits of a row would
// then depend on the other rows. The project's own kernels (kernels/linear.h) accept any number of
// rows.
inline constexpr int64_t kCpuBlockTokens = 512;

// Returns the number of token slots that a batch of `tokens` tokens should have on CPU, so that no
// product of this format has to copy its input. This is a multiple of kCpuBlockTokens if LibTorch
// computes the products, else `tokens`.
int64_t cpu_slots(int64_t tokens, ProductFormat format);
int64_t whole_blocks(int64_t tokens);  // rounds up to a multiple of kCpuBlockTokens

// Immutable; any number of threads may use it, with one exception below. On CPU the weight is
// repacked once, for the project's own kernels or for oneDNN, and the original is released. With
// ProductFormat::kFp8 the weight is quantized instead.
//
// LibTorch has one float32 precision for the whole process, which cuBLAS reads at each product. It
// is "highest", except while a Linear with ProductFormat::kFloat32High computes a product on a GPU.
// Only one thread at a time may use these Linears. On CPU nothing reads the precision.
class Linear {
 public:
  // weight is [out_features, in_features]; bias is [out_features] or undefined. Both are on the
  // device. The product format is the type of the weight.
  Linear(const at::Tensor& weight, const at::Tensor& bias,
         Activation activation = Activation::kNone)
      : Linear({weight}, bias, activation, {.format = format_of(weight.scalar_type())}) {}
  // The weights [.., in_features] are stacked by rows. Weights and bias have the compute type of
  // the format. For kFp8 on CPU they may have another type, which is then the type of the results.
  // Throws c10::Error if the weights have a wrong type.
  Linear(const std::vector<at::Tensor>& weights, at::Tensor bias, Activation activation,
         const ProductOptions& options);

  // Returns activation(x W^T + b), [T, out_features], for x [T, in_features].
  at::Tensor operator()(const LinearInput& x) const;
  // The same in the form in which `next`, the product that reads the result, needs it.
  LinearInput operator()(const LinearInput& x, const Linear& next) const;
  // Returns residual + x W^T + b. Only for Activation::kNone.
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const;

  // The same as operator() for inputs with a number of rows that varies from call to call. The
  // product runs in blocks of kCpuBlockTokens rows on every device, or in one call of the project's
  // own kernels.
  at::Tensor in_blocks(const at::Tensor& x) const { return blocks(x, {}); }

  int64_t out_features() const { return out_features_; }
  bool quantizes() const { return ours_ && ours_->quantizes(); }  // to int8
  bool takes_fp8() const { return fp8_.has_value(); }             // quantizes to 8-bit floats

 private:
  at::Tensor product(const LinearInput& x) const;  // all rows, not in blocks
  at::Tensor plain_product(const at::Tensor& x) const;
  bool activated_by_product() const;
  void launch(const at::Tensor& x, at::Tensor& out) const;
  at::Tensor block(const at::Tensor& x, const at::Tensor& residual) const;
  at::Tensor blocks(const at::Tensor& x, const at::Tensor& residual) const;

  std::optional<Fp8Linear> fp8_;
  std::optional<PackedLinear> ours_;
  at::Tensor weight_;  // dense [out, in] or packed by oneDNN; undefined with fp8_ or ours_
  at::Tensor bias_;
  Activation activation_;
  ProductOptions options_;
  int64_t out_features_ = 0;
  bool packed_ = false;  // weight_ is packed by oneDNN
};

}  // namespace encode
