#include <ATen/Context.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "nn/products/product_kinds.h"

namespace encode {
namespace {

// If `high` is true, sets LibTorch's float32 precision to "high" while the object exists, so that
// cuBLAS may use TF32.
class HighPrecision {
 public:
  explicit HighPrecision(bool high) : high_(high) { set("high"); }
  HighPrecision(const HighPrecision&) = delete;
  HighPrecision& operator=(const HighPrecision&) = delete;
  ~HighPrecision() { set("highest"); }

 private:
  void set(const char* precision) const {
    if (high_) at::globalContext().setFloat32MatmulPrecision(precision);
  }

  bool high_;
};

// Returns whether cuBLAS applies the activation in the same kernel as the matrix product, in
// float32. cuBLAS can do this for ReLU and for the tanh form of GELU, if there is a bias.
bool is_epilogue(const ProductParts& parts) {
  return parts.bias.defined() &&
         (parts.activation == Activation::kRelu || parts.activation == Activation::kGeluTanh);
}

// LibTorch has no call for a product with both the matrix C and a bias.
ProductCall call_of_add(const ProductParts& parts) {
  return parts.bias.defined() ? ProductCall::kWhole : ProductCall::kAddInPlace;
}

class CublasProduct final : public GpuProduct {
 public:
  CublasProduct(const ProductParts& parts, const ProductOptions& options)
      : GpuProduct(parts, Operands::kPlain, call_of_add(parts)),
        weight_(parts.weight()),
        bias_(parts.bias),
        activation_(parts.activation),
        epilogue_(is_epilogue(parts)),
        launches_(options.launches),
        high_(options.format == ProductFormat::kFloat32High) {}

  at::Tensor multiply(const LinearInput& input) const override {
    const HighPrecision precision(high_);
    const at::Tensor& x = input.rows;
    at::Tensor y = at::empty({x.size(0), weight_.size(0)}, x.options());
    for_each_launch(x.size(0), launches_, [&](int64_t begin, int64_t rows) {
      at::Tensor out = y.narrow(0, begin, rows);
      launch(x.narrow(0, begin, rows), out);
    });
    return epilogue_ ? y : activate_product(y, activation_);
  }

  // Makes the residual the matrix C of cuBLAS's D = A B + C, with D in the same memory, so that
  // cuBLAS rounds once. With a bias the result has a term.
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const override {
    if (bias_.defined()) return GpuProduct::add(x, residual);
    const HighPrecision precision(high_);
    for_each_launch(x.rows.size(0), launches_, [&](int64_t begin, int64_t rows) {
      residual.narrow(0, begin, rows).addmm_(x.rows.narrow(0, begin, rows), weight_.t());
    });
    return {residual};
  }

 private:
  void launch(const at::Tensor& x, at::Tensor& out) const {
    if (!bias_.defined()) {
      at::mm_out(out, x, weight_.t());
    } else if (epilogue_) {
      at::_addmm_activation_out(out, bias_, x, weight_.t(), /*beta=*/1, /*alpha=*/1,
                                /*use_gelu=*/activation_ == Activation::kGeluTanh);
    } else {
      at::addmm_out(out, bias_, x, weight_.t());
    }
  }

  at::Tensor weight_;
  at::Tensor bias_;
  Activation activation_;
  bool epilogue_;
  Launches launches_;
  bool high_;
};

}  // namespace

std::shared_ptr<const Product> make_cublas_product(const ProductParts& parts,
                                                   const ProductOptions& options) {
  return std::make_shared<CublasProduct>(parts, options);
}

}  // namespace encode
