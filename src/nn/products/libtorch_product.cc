#include <ATen/ops/linear.h>

#include "nn/products/product_kinds.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

class LibTorchProduct final : public CpuProduct {
 public:
  // Copies the weight, because it may be in the mapped file of the checkpoint, which may change
  // later.
  explicit LibTorchProduct(const ProductParts& parts)
      : CpuProduct(parts),
        weight_(parts.weight().clone()),
        bias_(parts.bias),
        activation_(parts.activation) {}

 private:
  at::Tensor compute(const at::Tensor& x, const at::Tensor& residual) const override {
    return multiply_in_blocks(
        kOneDnnRows, x, residual, [this](const at::Tensor& block, const at::Tensor& added) {
          at::Tensor y = activate(at::linear(block, weight_, bias_), activation_);
          return added.defined() ? y.add_(added) : y;
        });
  }

  at::Tensor weight_;
  at::Tensor bias_;
  Activation activation_;
};

}  // namespace

std::shared_ptr<const Product> make_libtorch_product(const ProductParts& parts) {
  return std::make_shared<LibTorchProduct>(parts);
}

}  // namespace encode
