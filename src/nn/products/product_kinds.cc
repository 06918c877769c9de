#include "nn/products/product_kinds.h"

#include "nn/products/row_blocks.h"

namespace encode {

CpuProduct::CpuProduct(const ProductParts& parts, Operands operands)
    : Product({.out_features = parts.out_features(),
               .operands = operands,
               .multiply = ProductCall::kInBlocks,
               .add = ProductCall::kAddInBlocks}) {}

GpuProduct::GpuProduct(const ProductParts& parts, Operands operands, ProductCall add)
    : Product({.out_features = parts.out_features(),
               .operands = operands,
               .multiply = ProductCall::kWhole,
               .add = add}) {}

at::Tensor GpuProduct::in_blocks(const at::Tensor& x) const {
  return multiply_in_blocks(
      kProductBlockRows, x, {},
      [this](const at::Tensor& block, const at::Tensor& /*residual*/) { return multiply(block); });
}

}  // namespace encode
