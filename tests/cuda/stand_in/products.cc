// The matrix products of the stand-in, which follow cuBLAS in what decides the bits of a row:
// - 16-bit products add in float32 and round once, when they store.
// - cuBLAS may split the sums of 16-bit products and round the parts, unless LibTorch's options
//   forbid it. The stand-in then splits only the rows of the second half, as a kernel with stream-K
//   does, so that a row's bits depend on its place.
// - The options are refused where LibTorch 2.11 refuses them (ATen/cuda/CUDABlas.cpp).
#include <cstdlib>
#include <string>

#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include "device.h"
#include "tensors.h"

namespace stand_in {
namespace {

using at::CuBLASReductionOption;
using at::Tensor;

constexpr auto kForbidden = CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK;

CuBLASReductionOption reductions(at::ScalarType type) {
  if (type == at::kBFloat16) return at::globalContext().allowBF16ReductionCuBLAS();
  if (type == at::kHalf) return at::globalContext().allowFP16ReductionCuBLAS();
  return kForbidden;
}

void check_backend(at::ScalarType type) {
  TORCH_CHECK(type == at::kFloat || reductions(type) != kForbidden ||
                  at::globalContext().blasPreferredBackend() == at::BlasBackend::Cublaslt,
              "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction("
              "..., allow_splitk=False) requires the cuBLASLt backend");
}

// Computes the rows from `begin` on in two parts, and rounds the first part.
void split_sums(const Tensor& x, const Tensor& w, int64_t begin, Tensor& y) {
  const int64_t half = x.size(1) / 2;
  const int64_t rows = x.size(0) - begin;
  if (half == 0 || rows == 0) return;
  const auto part = [&](int64_t first, int64_t count) {
    return at::mm(x.narrow(0, begin, rows).narrow(1, first, count), w.narrow(0, first, count));
  };
  const Tensor first = part(0, half).to(at::kBFloat16).to(at::kFloat);
  y.narrow(0, begin, rows).copy_(first.add_(part(half, x.size(1) - half)));
}

bool has_unequal_rows(const Tensor& x) {
  const char* numbers = std::getenv("STAND_IN_UNEQUAL_ROWS");
  if (numbers == nullptr) return false;
  const std::string list = "," + std::string(numbers) + ",";
  return list.find("," + std::to_string(x.size(0)) + ",") != std::string::npos;
}

}  // namespace

Tensor product(const Tensor& x, const Tensor& w) {
  const Tensor wide_x = x.to(at::kFloat);
  const Tensor wide_w = w.to(at::kFloat);
  Tensor y = at::mm(wide_x, wide_w);
  if (reductions(x.scalar_type()) != kForbidden || has_unequal_rows(x))
    split_sums(wide_x, wide_w, x.size(0) / 2, y);
  return y;
}

namespace {

Tensor& mm_out(const Tensor& x, const Tensor& w, Tensor& out) {
  count_launch();
  count_bytes({x, out});
  check_backend(x.scalar_type());
  on_cpu(out).copy_(product(on_cpu(x), on_cpu(w)));
  return out;
}

// A vector as `addend` is the bias, which cuBLASLt adds in any case. LibTorch would copy a matrix
// to the result first, so the layers must not pass one.
Tensor& addmm_out(const Tensor& addend, const Tensor& x, const Tensor& w, const at::Scalar& beta,
                  const at::Scalar& alpha, Tensor& out) {
  count_launch();
  count_bytes({x, out});
  TORCH_CHECK(beta.toDouble() == 1 && alpha.toDouble() == 1, "beta and alpha are 1");
  TORCH_CHECK(addend.dim() == 1, "a matrix is added in place");
  on_cpu(out).copy_(product(on_cpu(x), on_cpu(w)).add_(on_cpu(addend).to(at::kFloat)));
  return out;
}

// The sum is in float32 and is rounded once, because cuBLAS adds C before it stores.
Tensor& addmm_in_place(Tensor& sum, const Tensor& x, const Tensor& w, const at::Scalar& beta,
                       const at::Scalar& alpha) {
  count_launch();
  count_bytes({x, sum, sum});
  TORCH_CHECK(beta.toDouble() == 1 && alpha.toDouble() == 1, "beta and alpha are 1");
  TORCH_CHECK(sum.is_contiguous(), "LibTorch would copy the sum");
  check_backend(x.scalar_type());
  on_cpu(sum).copy_(product(on_cpu(x), on_cpu(w)).add_(on_cpu(sum).to(at::kFloat)));
  return sum;
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("mm.out", mm_out);
  library.impl("addmm.out", addmm_out);
  library.impl("addmm_", addmm_in_place);
}

}  // namespace
}  // namespace stand_in
