// The linear layer y = x W^T + b, optionally with an activation or with the addition of a residual.
// If the device has one kernel for both, that kernel computes them together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/cpu/packed_linear.h"
#include "nn/fp8/fp8_linear.h"
#include "nn/layers/activation.h"
#include "nn/layers/product_format.h"
#include "nn/layers/residual.h"

namespace encode {

// The number of token rows of a block. A library may choose another kernel for another number of
// rows, and so another order of summation; the bits of a row would then depend on the other rows.
// On CPU, LibTorch's products have sixteen rows more (kOneDnnRows in linear.cc). The project's own
// kernels (kernels/packed_product.h) accept any number of rows.
inline constexpr int64_t kCpuBlockTokens = 512;

// Returns the number of token slots that a batch of `tokens` tokens should have on CPU, so that the
// products of this format fill their blocks. The result is a multiple of kCpuBlockTokens if
// LibTorch computes the matrix products, else `tokens`.
int64_t cpu_slots(int64_t tokens, ProductFormat format);
int64_t whole_blocks(int64_t tokens);  // rounds up to a multiple of kCpuBlockTokens

// A linear layer. Immutable; any number of threads may use it, with one exception below. On CPU the
// constructor repacks the weight for the project's own kernels or for oneDNN, and does not keep the
// original. With ProductFormat::kFp8 it quantizes the weight instead.
//
// The exception: LibTorch has one float32 precision for the whole process, which cuBLAS reads at
// each matrix product. A Linear with ProductFormat::kFloat32High changes it from "highest" to
// "high" while it computes on a GPU. Therefore only one thread at a time may use such Linears on a
// GPU. On CPU nothing reads the precision.
class Linear {
 public:
  // weight is [out_features, in_features]; bias is [out_features] or undefined. Both are on the
  // device. The product format follows from the type of the weight.
  Linear(const at::Tensor& weight, const at::Tensor& bias,
         Activation activation = Activation::kNone)
      : Linear({weight}, bias, activation, {.format = format_of(weight.scalar_type())}) {}
  // Each weight is [.., in_features]. The weights are stacked by rows to one weight [out_features,
  // in_features]. Weights and bias have the compute type of the format. For kFp8 on CPU, weights
  // and bias may have another type. The results then have this type, too. Throws c10::Error if the
  // weights have a wrong type.
  Linear(const std::vector<at::Tensor>& weights, at::Tensor bias, Activation activation,
         const ProductOptions& options);

  // Returns activation(x W^T + b), [T, out_features], for x [T, in_features].
  at::Tensor operator()(const LinearInput& x) const;
  // Returns activation(x W^T + b) for a result that only `next` reads. If `next` takes 8-bit
  // floats, the result may be quantized for it.
  LinearInput operator()(const LinearInput& x, const Linear& next) const;
  // Returns residual + x W^T + b. The Linear must have no activation (Activation::kNone). On CUDA
  // it may overwrite `residual` [T, out_features], which must be dense: cuBLAS then adds the
  // product to the residual in place and rounds once. LibTorch can do this only without a bias;
  // with a bias the result has a term.
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const;

  // Does what operator() does, for inputs with a number of rows that varies from call to call. On
  // every device it computes blocks of kCpuBlockTokens rows, so that the bits of a row do not
  // depend on the number of rows. The project's own CPU kernels need no blocks.
  at::Tensor in_blocks(const at::Tensor& x) const { return blocks(x, {}); }

  int64_t out_features() const { return out_features_; }
  bool quantizes() const { return ours_ && ours_->quantizes(); }  // true if it quantizes to int8
  bool takes_fp8() const { return fp8_.has_value(); }  // true if it quantizes to 8-bit floats

 private:
  at::Tensor product(const LinearInput& x) const;  // all rows, not in blocks
  at::Tensor plain_product(const at::Tensor& x) const;
  void add_in_place(const at::Tensor& x, const at::Tensor& residual) const;
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
