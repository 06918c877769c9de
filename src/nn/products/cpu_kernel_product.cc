#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "base/mapped_memory.h"
#include "kernels/packed_product.h"
#include "nn/cpu/rows.h"
#include "nn/products/product_kinds.h"

namespace encode {
namespace {

constexpr std::align_val_t kAlignment{64};

// The working memory of one thread. The memory is kept for the next call.
class Scratch {
 public:
  std::byte* of_size(int64_t bytes) {
    if (bytes > size_) {
      data_.reset(static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment)));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t size_ = 0;
};

// Allocates memory for a packed weight. Only a large weight gets pages of its own, because part of
// the last page is wasted.
std::shared_ptr<std::byte> allocate_packed(int64_t size) {
  constexpr size_t kWorthPages = size_t{64} << 10;
  const auto bytes = static_cast<size_t>(size);
  if (bytes >= kWorthPages) return map_memory(bytes);
  return {static_cast<std::byte*>(::operator new(bytes, kAlignment)),
          [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

// Returns the matrices to pack, one after the other in memory: the weights themselves, if each of
// them but the last fills whole blocks of PackedWeight::kBlockColumns rows. Otherwise the result is
// one concatenated matrix.
std::vector<at::Tensor> stackable(const std::vector<at::Tensor>& weights) {
  const bool whole_blocks =
      std::all_of(weights.begin(), weights.end() - 1, [](const at::Tensor& weight) {
        return weight.size(0) % kernels::PackedWeight::kBlockColumns == 0;
      });
  return whole_blocks ? weights : std::vector<at::Tensor>{at::cat(weights)};
}

// Packs a weight into `to` on all threads. Returns the size of the packed weight in bytes.
template <typename T>
int64_t pack_parallel(const at::Tensor& weight, kernels::LinearKernel kernel, std::byte* to) {
  const at::Tensor dense = weight.contiguous();
  const kernels::PackedWeight shape = {.kernel = kernel,
                                       .out_features = dense.size(0),
                                       .in_features = dense.size(1),
                                       .data = nullptr};
  at::parallel_for(0, shape.column_blocks(), 1, [&](int64_t begin, int64_t end) {
    kernels::pack(rows_of<const T>(dense), shape, {begin, end}, to);
  });
  return shape.packed_bytes();
}

kernels::Epilogue epilogue_for(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return kernels::Epilogue::kGelu;
    case Activation::kGeluTanh:
      return kernels::Epilogue::kGeluTanh;
    case Activation::kRelu:
      return kernels::Epilogue::kRelu;
    case Activation::kSilu:
      return kernels::Epilogue::kSilu;
    case Activation::kNone:
      break;
  }
  return kernels::Epilogue::kNone;
}

// Calls body(T{}). T is the element type of the linear kernels for tensors of `type`.
template <typename Body>
void with_linear_type(at::ScalarType type, const Body& body) {
  if (type == at::kFloat) return body(float{});
  if (type == at::kHalf) return body(kernels::Float16{});
  body(kernels::BFloat16{});
}

Operands operands_of(kernels::LinearKernel kernel) {
  const bool int8 = kernel == kernels::LinearKernel::kOneDigitTiles ||
                    kernel == kernels::LinearKernel::kInt8Vectors;
  return int8 ? Operands::kInt8 : Operands::kPlain;
}

class CpuKernelProduct final : public CpuProduct {
 public:
  CpuKernelProduct(const ProductParts& parts, kernels::LinearKernel kernel)
      : CpuProduct(parts, operands_of(kernel)),
        weight_({.kernel = kernel,
                 .out_features = parts.out_features(),
                 .in_features = parts.in_features(),
                 .data = nullptr}),
        packed_(allocate_packed(weight_.packed_bytes())),
        type_(parts.weights.front().scalar_type()),
        epilogue_(epilogue_for(parts.activation)) {
    weight_.data = packed_.get();
    with_linear_type(type_, [&](auto type) {
      std::byte* to = packed_.get();
      for (const at::Tensor& weight : stackable(parts.weights))
        to += pack_parallel<decltype(type)>(weight, kernel, to);
    });
    if (parts.bias.defined()) bias_ = parts.bias.to(at::kFloat).contiguous();
  }

 private:
  at::Tensor compute(const at::Tensor& x, const at::Tensor& residual) const override {
    static thread_local Scratch scratch;
    const at::Tensor in = x.contiguous();
    const at::Tensor added = residual.defined() ? residual.contiguous() : residual;
    at::Tensor y = at::empty({in.size(0), weight_.out_features}, in.options());
    with_linear_type(type_, [&](auto type) {
      using T = decltype(type);
      const kernels::Linear<T> call = {
          .x = rows_of<const T>(in),
          .bias = bias_.defined() ? rows_of<const float>(bias_) : nullptr,
          .residual = added.defined() ? rows_of<const T>(added) : nullptr,
          .y = rows_of<T>(y),
          .rows = in.size(0),
          .epilogue = epilogue_};
      kernels::linear(weight_, call, scratch.of_size(kernels::scratch_bytes(weight_)));
    });
    return y;
  }

  kernels::PackedWeight weight_;
  std::shared_ptr<std::byte> packed_;  // owns weight_.data
  at::ScalarType type_;
  kernels::Epilogue epilogue_;
  at::Tensor bias_;  // float32 or undefined
};

}  // namespace

std::shared_ptr<const Product> make_cpu_kernel_product(const ProductParts& parts,
                                                       ProductFormat format) {
  const auto kernel = linear_kernel(format);
  if (!kernel || parts.in_features() > kernels::PackedWeight::kMaxInFeatures) return nullptr;
  return std::make_shared<CpuKernelProduct>(parts, *kernel);
}

}  // namespace encode
