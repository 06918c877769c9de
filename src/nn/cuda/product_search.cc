#include "nn/cuda/product_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <c10/core/DeviceGuard.h>

#include "nn/cuda/product_arguments.h"
#include "nn/cuda/products.h"

namespace encode {
namespace {

using Verdict = ProductCandidates::Verdict;

// The product is compared with a float32 product on at most this number of rows.
constexpr int64_t kComparedRows = 128;

// The most by which a result may differ from a float32 product. The results are distributed like
// the sum of at most three N(0, 1), so the largest is about 10.
double tolerance_of(ProductFormat format) {
  switch (format) {
    case ProductFormat::kBFloat16:
      return 0x1p-4;  // half a unit in the last place of a number below 16 is 2^-5
    case ProductFormat::kFloat16:
      return 0x1p-7;  // the same, with three more bits
    case ProductFormat::kFloat32High:
      return 0x1p-6;  // operands are rounded to 11 bits
    default:
      return 1e-4;  // operands rounded to TF32 would differ by about 1e-3
  }
}

// Comparisons count differences instead of asking whether all are equal, so that zero is the good
// answer: on the stand-in for the CUDA runtime, everything that the host reads is zero.
int64_t count_true(const at::Tensor& flags) { return flags.sum().item<int64_t>(); }

bool has_equal_rows(const at::Tensor& rows) {
  return count_true(rows.ne(rows.narrow(0, 0, 1))) == 0;
}

// Returns random numbers N(0, scale^2).
at::Tensor random(at::IntArrayRef sizes, double scale, const at::TensorOptions& tensor) {
  return at::randn(sizes, tensor.dtype(at::kFloat)).mul_(scale).to(tensor.dtype());
}

// The operands of a product.
struct Operands {
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor residual;
  at::Tensor y;
};

Operands random_operands(const ProductShape& shape, at::Device device) {
  const auto tensor = at::TensorOptions().dtype(compute_type(shape.format)).device(device);
  Operands operands;
  operands.x = random({shape.rows, shape.in_features}, 1, tensor);
  operands.weight = random({shape.out_features, shape.in_features},
                           1 / std::sqrt(static_cast<double>(shape.in_features)), tensor);
  if (shape.bias) operands.bias = random({shape.out_features}, 1, tensor);
  if (shape.residual) operands.residual = random({shape.rows, shape.out_features}, 1, tensor);
  operands.y = at::empty({shape.rows, shape.out_features}, tensor);
  return operands;
}

// Returns at most `most` rows at even distances, with the first and the last one: [n] int64.
at::Tensor spread_rows(int64_t rows, int64_t most, at::Device device) {
  const int64_t count = std::min(rows, most);
  const at::Tensor index = at::arange(count, at::TensorOptions().dtype(at::kLong));
  return index.mul_(rows - 1).floor_divide(std::max<int64_t>(count - 1, 1)).to(device);
}

// Returns the rows `index` of the product of the operands, computed in float32.
at::Tensor float_product(const Operands& operands, Activation activation, const at::Tensor& index) {
  const auto wide = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(at::kFloat) : tensor;
  };
  at::Tensor y = at::linear(wide(operands.x.index_select(0, index)), wide(operands.weight),
                            wide(operands.bias));
  if (operands.residual.defined()) y.add_(wide(operands.residual.index_select(0, index)));
  return activate(y, activation);
}

class DeviceCandidates final : public ProductCandidates {
 public:
  DeviceCandidates(const EncodeCudaProducts& table, const ProductShape& shape, at::Device device)
      : table_(table),
        shape_(shape),
        operands_(random_operands(shape, device)),
        workspace_(at::empty({kProductWorkspaceBytes},
                             at::TensorOptions().dtype(at::kByte).device(device))),
        compared_(spread_rows(shape.rows, kComparedRows, device)),
        expected_(float_product(operands_, shape.activation, compared_)) {
    // The same row at each compared place, among rows that differ.
    const at::Tensor row = operands_.x.narrow(0, 0, 1).clone();
    mixed_ = operands_.x.clone();
    mixed_.index_copy_(0, compared_, row.expand({compared_.size(0), row.size(1)}));
    equal_ = row.repeat({shape.rows, 1});
    if (!shape.residual) return;
    const at::Tensor added = operands_.residual.narrow(0, 0, 1).clone();
    mixed_residual_ = operands_.residual.clone();
    mixed_residual_.index_copy_(0, compared_, added.expand({compared_.size(0), added.size(1)}));
    equal_residual_ = added.repeat({shape.rows, 1});
  }

  std::vector<ProductAlgorithm> suggest() override {
    std::array<EncodeCudaAlgorithm, kMostSuggestions> found = {};
    const EncodeCudaProduct arguments = arguments_of(call(operands_.x), workspace_);
    const c10::DeviceGuard guard(operands_.x.device());
    const int count = table_.suggest(&arguments, found.data(), kMostSuggestions);
    std::vector<ProductAlgorithm> algorithms;
    for (int i = 0; i < count; ++i)
      std::copy_n(found[static_cast<size_t>(i)].words, 8, algorithms.emplace_back().begin());
    return algorithms;
  }

  Verdict judge(const ProductAlgorithm& algorithm) override {
    if (!multiply(algorithm, operands_.x, operands_.residual)) return Verdict::kFailed;
    if (!is_right()) return Verdict::kWrong;
    const at::Tensor first = operands_.y.clone();
    if (!multiply(algorithm, operands_.x, operands_.residual)) return Verdict::kFailed;
    const bool repeats = count_true(operands_.y.ne(first)) == 0;
    if (!multiply(algorithm, mixed_, mixed_residual_)) return Verdict::kFailed;
    const at::Tensor among_others = operands_.y.index_select(0, compared_);
    if (!multiply(algorithm, equal_, equal_residual_)) return Verdict::kFailed;
    const bool equal =
        has_equal_rows(operands_.y) && has_equal_rows(among_others) &&
        count_true(among_others.narrow(0, 0, 1).ne(operands_.y.narrow(0, 0, 1))) == 0;
    return repeats && equal ? Verdict::kGood : Verdict::kUnequalRows;
  }

  double time(const ProductAlgorithm& algorithm) override {
    const EncodeCudaProduct arguments = arguments_of(call(operands_.x), workspace_);
    const EncodeCudaAlgorithm form = plugin_form(algorithm);
    float milliseconds = 0;
    const c10::DeviceGuard guard(operands_.x.device());
    const int status = table_.time(&arguments, &form, &milliseconds);
    // An algorithm that has run before and now fails loses against each other one.
    return status == 0 ? milliseconds : std::numeric_limits<double>::infinity();
  }

 private:
  ProductCall call(const at::Tensor& x) const {
    return {.x = x,
            .weight = operands_.weight,
            .bias = operands_.bias,
            .residual = shape_.residual ? operands_.y : at::Tensor(),
            .y = operands_.y,
            .activation = shape_.activation,
            .format = shape_.format};
  }

  // Multiplies into y, which holds NaN before, or the residual: a layer adds a product to the
  // residual in place. Returns false if cuBLASLt refuses.
  bool multiply(const ProductAlgorithm& algorithm, const at::Tensor& x,
                const at::Tensor& residual) {
    if (residual.defined()) {
      operands_.y.copy_(residual);
    } else {
      operands_.y.fill_(std::numeric_limits<double>::quiet_NaN());
    }
    const EncodeCudaProduct arguments = arguments_of(call(x), workspace_);
    const EncodeCudaAlgorithm form = plugin_form(algorithm);
    const c10::DeviceGuard guard(x.device());
    return table_.multiply(&arguments, &form) == 0;
  }

  // Compares y with the float32 product of the same numbers.
  bool is_right() const {
    if (count_true(at::logical_not(at::isfinite(operands_.y))) != 0) return false;
    const at::Tensor found = operands_.y.index_select(0, compared_).to(at::kFloat);
    return at::max(at::abs(found.sub(expected_))).item<double>() <= tolerance_of(shape_.format);
  }

  const EncodeCudaProducts& table_;
  const ProductShape shape_;
  Operands operands_;
  at::Tensor workspace_;
  at::Tensor compared_;        // [n] int64: the places of the rows that are compared
  at::Tensor expected_;        // [n, out_features] float32: these rows of the product
  at::Tensor mixed_;           // x with the first row at each compared place
  at::Tensor mixed_residual_;  // undefined without a residual
  at::Tensor equal_;           // x with the first row at every place
  at::Tensor equal_residual_;
};

}  // namespace

ProductFinding search_product(const EncodeCudaProducts& table, const ProductShape& shape,
                              at::Device device) {
  DeviceCandidates candidates(table, shape, device);
  return choose_algorithm(candidates);
}

bool can_compute(const EncodeCudaProducts& table, const ProductShape& shape,
                 const ProductAlgorithm& algorithm, at::Device device) {
  const c10::DeviceGuard guard(device);
  // cuBLASLt only looks at which operands there are, and how they are aligned.
  alignas(256) static constexpr char kOperand = 0;
  const auto present = [](bool wanted) -> const void* { return wanted ? &kOperand : nullptr; };
  const EncodeCudaProduct arguments = {.x = &kOperand,
                                       .w = &kOperand,
                                       .bias = present(shape.bias),
                                       .residual = present(shape.residual),
                                       .y = nullptr,
                                       .rows = shape.rows,
                                       .in_features = shape.in_features,
                                       .out_features = shape.out_features,
                                       .activation = product_activation(shape.activation),
                                       .type = *type_of(compute_type(shape.format)),
                                       .tf32 = shape.format == ProductFormat::kFloat32High ? 1 : 0,
                                       .workspace = nullptr,
                                       .workspace_bytes = kProductWorkspaceBytes,
                                       .stream = nullptr};
  const EncodeCudaAlgorithm form = plugin_form(algorithm);
  return table.check(&arguments, &form) == 0;
}

}  // namespace encode
