// The implementations of Product. make_product() and the tests include this header.
#pragma once

#include <memory>

#include "nn/layers/launches.h"
#include "nn/products/product.h"

namespace encode {

// The base of the products on a CPU. They compute any number of rows, and add the residual
// themselves.
class CpuProduct : public Product {
 public:
  at::Tensor multiply(const LinearInput& x) const final { return compute(x.rows, {}); }
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const final {
    return {compute(x.rows, residual)};
  }
  at::Tensor in_blocks(const at::Tensor& x) const final { return compute(x, {}); }

 protected:
  explicit CpuProduct(const ProductParts& parts, Operands operands = Operands::kPlain);

 private:
  // Returns y, or residual + y if `residual` is defined.
  virtual at::Tensor compute(const at::Tensor& x, const at::Tensor& residual) const = 0;
};

// The base of the products on a GPU. multiply() gets whole launches, because the engine fills every
// batch up to whole launches. add() leaves the addition to the kernel of the next norm.
class GpuProduct : public Product {
 public:
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const override {
    return {.sum = residual, .term = multiply(x)};
  }
  at::Tensor in_blocks(const at::Tensor& x) const final;  // in blocks of kProductBlockRows

 protected:
  explicit GpuProduct(const ProductParts& parts, Operands operands = Operands::kPlain,
                      ProductCall add = ProductCall::kWhole);
};

// The project's own kernels (kernels/packed_product.h), on a CPU. Returns null if no kernel for the
// format runs on the processor, or if in_features is too large.
std::shared_ptr<const Product> make_cpu_kernel_product(const ProductParts& parts,
                                                       ProductFormat format);

// oneDNN on a CPU, with the weight in oneDNN's own order. Returns null if oneDNN has no such order
// for the type of the weights on this processor.
std::shared_ptr<const Product> make_onednn_product(const ProductParts& parts);

// LibTorch's operations, on a CPU.
std::shared_ptr<const Product> make_libtorch_product(const ProductParts& parts);

// cuBLAS, through LibTorch, on a GPU.
std::shared_ptr<const Product> make_cublas_product(const ProductParts& parts,
                                                   const ProductOptions& options);

// 8-bit floats, on a GPU in `launches`, or on a CPU for the tests. Returns null if in_features
// or out_features is not a multiple of kFp8WidthStep, which the tensor cores need. Weights and bias
// have the same type, which must be bfloat16 on a GPU.
std::shared_ptr<const Product> make_fp8_product(const ProductParts& parts,
                                                const Launches& launches);

}  // namespace encode
