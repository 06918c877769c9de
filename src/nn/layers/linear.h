// The linear layer y = x W^T + b, optionally with an activation or with the addition of a residual.
// If the device has one kernel for both, that kernel computes them together.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/products/product.h"

namespace encode {

// A linear layer. Immutable; any number of threads may use it, with one exception below. Copies
// share the weight. On CPU the constructor repacks the weight for the project's own kernels or for
// oneDNN, and does not keep the original. With ProductFormat::kFp8 it quantizes the weight instead.
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
  // in_features]. make_product() states their types, and throws c10::Error for another type.
  Linear(const std::vector<at::Tensor>& weights, at::Tensor bias, Activation activation,
         const ProductOptions& options)
      : product_(make_product({weights, std::move(bias), activation}, options)),
        trace_(options.trace) {}

  // Returns activation(x W^T + b), [T, out_features], for x [T, in_features].
  at::Tensor operator()(const LinearInput& x) const;
  // Returns activation(x W^T + b) for a result that only `next` reads. If `next` takes 8-bit
  // floats, the result may be quantized for it.
  LinearInput operator()(const LinearInput& x, const Linear& next) const;
  // Returns residual + x W^T + b for `residual` [T, out_features], which must be dense. The Linear
  // must have no activation (Activation::kNone). On CUDA it either writes the sum into `residual`
  // (dense), or returns both summands apart, as `sum` and `term`.
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const;

  // Does what operator() does, for inputs with a number of rows that varies from call to call. On
  // every device it computes blocks of kProductBlockRows rows, so that the bits of a row do not
  // depend on the number of rows. The project's own CPU kernels need no blocks.
  at::Tensor in_blocks(const at::Tensor& x) const;

  int64_t out_features() const { return product_->facts().out_features; }
  // Return whether the product quantizes its input to int8, or to 8-bit floats.
  bool quantizes() const { return product_->facts().operands == Operands::kInt8; }
  bool takes_fp8() const { return product_->facts().operands == Operands::kFp8; }

 private:
  void note(const LinearInput& x, ProductCall call) const;

  std::shared_ptr<const Product> product_;
  ProductTrace* trace_;
};

}  // namespace encode
