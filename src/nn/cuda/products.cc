#include "nn/cuda/products.h"

#include <algorithm>
#include <fmt/format.h>

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include "nn/cuda/cuda_kernels.h"
#include "nn/cuda/product_arguments.h"

namespace encode {
namespace {

constexpr int64_t kAlignmentBytes = 16;

bool is_aligned(const at::Tensor& tensor) {
  return !tensor.defined() ||
         reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % kAlignmentBytes == 0;
}

// Returns true for an undefined tensor, and for a dense and aligned one with these sizes and the
// type of x.
bool fits(const at::Tensor& tensor, at::IntArrayRef sizes, const at::Tensor& x) {
  return !tensor.defined() || (tensor.sizes() == sizes && tensor.is_contiguous() &&
                               tensor.scalar_type() == x.scalar_type() && is_aligned(tensor));
}

}  // namespace

std::optional<ProductShape> shape_of(const ProductCall& call) {
  const at::Tensor& x = call.x;
  if (x.dim() != 2 || call.weight.dim() != 2 || !type_of(x.scalar_type())) return std::nullopt;
  const int64_t rows = x.size(0);
  const int64_t in = x.size(1);
  const int64_t out = call.weight.size(0);
  const auto step = kAlignmentBytes / static_cast<int64_t>(x.element_size());
  const bool known_activation = call.activation == Activation::kNone ||
                                call.activation == Activation::kRelu ||
                                call.activation == Activation::kGeluTanh;
  if (rows == 0 || in % step != 0 || out % step != 0 || !known_activation ||
      !fits(x, {rows, in}, x) || !fits(call.weight, {out, in}, x) || !fits(call.bias, {out}, x) ||
      !fits(call.residual, {rows, out}, x) || !fits(call.y, {rows, out}, x))
    return std::nullopt;
  return ProductShape{.rows = rows,
                      .in_features = in,
                      .out_features = out,
                      .format = call.format,
                      .bias = call.bias.defined(),
                      .residual = call.residual.defined(),
                      .activation = call.activation};
}

CudaProducts::CudaProducts(const EncodeCudaProducts& table, at::Device device)
    : table_(table),
      workspace_(at::empty({kProductWorkspaceBytes},
                           at::TensorOptions().dtype(at::kByte).device(device))) {}

std::vector<ProductShape> CudaProducts::collected() {
  collecting_ = false;
  return std::exchange(collected_, {});
}

void CudaProducts::use(const ProductShape& shape, const ProductAlgorithm& algorithm) {
  chosen_.push_back({.shape = shape, .algorithm = algorithm});
}

bool CudaProducts::multiply(const ProductCall& call) {
  const std::optional<ProductShape> shape = shape_of(call);
  if (!shape) return false;
  if (collecting_) {
    if (std::find(collected_.begin(), collected_.end(), *shape) == collected_.end())
      collected_.push_back(*shape);
    return false;
  }
  const auto chosen = std::find_if(chosen_.begin(), chosen_.end(),
                                   [&shape](const Chosen& each) { return each.shape == *shape; });
  if (chosen == chosen_.end()) return false;
  const c10::DeviceGuard guard(call.x.device());
  const EncodeCudaProduct arguments = arguments_of(call, workspace_);
  const EncodeCudaAlgorithm algorithm = plugin_form(chosen->algorithm);
  if (const int status = table_.multiply(&arguments, &algorithm); status != 0) {
    throw CudaLaunchError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                          fmt::format("cuBLASLt refuses the product {}: status {}; set "
                                      "hardware.product_search: false to let LibTorch compute it",
                                      to_string(*shape), status));
  }
  return true;
}

}  // namespace encode
