#include <vector>

#include <ATen/ops/cat.h>

#include "nn/fp8/fp8_multiply.h"
#include "nn/products/product_kinds.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

// Returns W, quantized. The weights are quantized one by one, because quantization needs working
// memory of several times the size of its input.
Fp8Rows quantized_weight(const ProductParts& parts) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> scales;
  for (const at::Tensor& weight : parts.weights) {
    const Fp8Rows rows = quantize_rows(weight.contiguous());
    // The values are concatenated as bytes, because at::cat() may not support 8-bit floats.
    values.push_back(rows.values.view(at::kByte));
    scales.push_back(rows.scale);
  }
  return {at::cat(values).view(at::kFloat8_e4m3fn), at::cat(scales)};
}

class GpuFp8Product final : public GpuProduct {
 public:
  GpuFp8Product(const ProductParts& parts, const Launches& launches)
      : GpuProduct(parts, Operands::kFp8),
        weight_(quantized_weight(parts)),
        bias_(parts.bias),
        activation_(parts.activation),
        launches_(launches) {}

  at::Tensor multiply(const LinearInput& x) const override {
    return activate_product(product(x), activation_);
  }
  LinearInput multiply_for_fp8(const LinearInput& x) const override {
    return activate_for_product(product(x), activation_);
  }

 private:
  at::Tensor product(const LinearInput& x) const {
    const Fp8Rows rows = x.fp8 ? *x.fp8 : quantize_rows(x.rows.contiguous());
    return scaled_product(rows, weight_, bias_, launches_);
  }

  Fp8Rows weight_;
  at::Tensor bias_;
  Activation activation_;
  Launches launches_;
};

// For the tests: multiplies the same quantized values as on a GPU.
class CpuFp8Product final : public CpuProduct {
 public:
  explicit CpuFp8Product(const ProductParts& parts)
      : CpuProduct(parts, Operands::kFp8),
        weight_(quantized_weight(parts)),
        bias_(parts.bias),
        activation_(parts.activation),
        type_(parts.weights.front().scalar_type()) {}

 private:
  at::Tensor compute(const at::Tensor& x, const at::Tensor& residual) const override {
    return multiply_in_blocks(
        kProductBlockRows, x, residual, [this](const at::Tensor& block, const at::Tensor& added) {
          const at::Tensor y = float_product(quantize_rows(block.contiguous()), weight_, bias_);
          const at::Tensor activated = activate(y.to(type_), activation_);
          return added.defined() ? activated.add(added) : activated;
        });
  }

  Fp8Rows weight_;
  at::Tensor bias_;
  Activation activation_;
  at::ScalarType type_;
};

}  // namespace

std::shared_ptr<const Product> make_fp8_product(const ProductParts& parts,
                                                const Launches& launches) {
  if (parts.out_features() % kFp8WidthStep != 0 || parts.in_features() % kFp8WidthStep != 0)
    return nullptr;
  if (parts.weights.front().device().is_cpu()) return std::make_shared<CpuFp8Product>(parts);
  return std::make_shared<GpuFp8Product>(parts, launches);
}

}  // namespace encode
