#include <optional>
#include <string>
#include <utility>

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include "nn/products/product_kinds.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

// Calls an operator by its name. The prepacked linear operators of oneDNN have no at:: function.
at::Tensor call_boxed(const char* name, const char* overload, torch::jit::Stack arguments) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  op.callBoxed(arguments);
  return arguments.front().toTensor();
}

// Returns the weight in oneDNN's order, or nullopt if there is none.
std::optional<at::Tensor> pack_weight(const at::Tensor& weight) {
  const at::ScalarType type = weight.scalar_type();
  if (type != at::kFloat && type != at::kBFloat16) return std::nullopt;
  try {
    return call_boxed("mkldnn::_reorder_linear_weight", "", {weight, c10::IValue()});
  } catch (const c10::Error&) {
    return std::nullopt;  // oneDNN cannot pack bfloat16 on a processor without AVX-512
  }
}

// The name of an activation in oneDNN's operators.
struct PostOp {
  std::string attribute = "none";
  c10::IValue algorithm = {};
};

PostOp post_op_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return {.attribute = "relu"};
    case Activation::kSilu:
      return {.attribute = "swish"};
    case Activation::kGelu:
      return {.attribute = "gelu", .algorithm = std::string("none")};
    case Activation::kGeluTanh:
      return {.attribute = "gelu", .algorithm = std::string("tanh")};
  }
  return {};
}

class OneDnnProduct final : public CpuProduct {
 public:
  OneDnnProduct(const ProductParts& parts, at::Tensor packed)
      : CpuProduct(parts),
        weight_(std::move(packed)),
        bias_(parts.bias.defined() ? c10::IValue(parts.bias) : c10::IValue()),
        post_op_(post_op_of(parts.activation)) {}

 private:
  at::Tensor compute(const at::Tensor& x, const at::Tensor& residual) const override {
    return multiply_in_blocks(
        kOneDnnRows, x, residual, [this](const at::Tensor& block, const at::Tensor& added) {
          return added.defined() ? multiply_add(block, added) : multiply_block(block);
        });
  }

  at::Tensor multiply_block(const at::Tensor& x) const {
    return call_boxed("mkldnn::_linear_pointwise", "",
                      {x, weight_, bias_, post_op_.attribute,
                       c10::List<std::optional<at::Scalar>>(), post_op_.algorithm});
  }
  at::Tensor multiply_add(const at::Tensor& x, const at::Tensor& residual) const {
    return call_boxed("mkldnn::_linear_pointwise", "binary",
                      {x, residual, weight_, bias_, std::string("add")});
  }

  at::Tensor weight_;  // in oneDNN's order
  c10::IValue bias_;   // a tensor or none
  PostOp post_op_;
};

}  // namespace

std::shared_ptr<const Product> make_onednn_product(const ProductParts& parts) {
  std::optional<at::Tensor> packed = pack_weight(parts.weight());
  return packed ? std::make_shared<OneDnnProduct>(parts, *std::move(packed)) : nullptr;
}

}  // namespace encode
