// Makes the input of check_kernels() and compares the results. Only kernel_checks.cc and
// attention_check.cc include this header.
#pragma once

#include <cmath>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include "nn/cuda/cuda_kernels.h"

namespace encode {

inline constexpr double kFloatTolerance = 1e-5;

inline double tolerance_of(at::ScalarType type) {
  if (type == at::kBFloat16) return 0x1p-7;
  return type == at::kHalf ? 0x1p-10 : kFloatTolerance;
}

// Makes random input of one type, and compares the results of the kernels with references. It keeps
// the largest difference.
class KernelCheck {
 public:
  KernelCheck(const EncodeCudaKernels& table, at::Device device, at::ScalarType type)
      : kernels_(&table), device_(device), type_(type) {
    for (const CudaKernel kernel : kCudaKernels) kernels_.trust(kernel, type);
  }

  const CudaKernels& kernels() const { return kernels_; }
  at::Tensor random(at::IntArrayRef shape) { return random(shape, type_); }
  at::Tensor random(at::IntArrayRef shape, at::ScalarType type) {
    return at::randn(shape, generator_, at::TensorOptions().dtype(at::kFloat)).to(device_, type);
  }
  at::Tensor indices(const std::vector<int64_t>& values) const {
    return at::tensor(values, at::kLong).to(device_);
  }
  at::Device device() const { return device_; }

  // Compares `found` with `reference`, which is float32. `ran` is what the member function of
  // CudaKernels returned.
  void compare(bool ran, const at::Tensor& found, const at::Tensor& reference) {
    if (!ran) return refuse("it does not take a shape that it should take");
    const at::ScalarType type = found.scalar_type();
    const at::Tensor rounded = reference.to(type).to(at::kDouble);
    const at::Tensor allowed = at::abs(rounded).clamp_min(1).mul(tolerance_of(type));
    note(at::max(at::abs(found.to(at::kDouble).sub(rounded)).div(allowed)));
  }

  // Compares rows that a kernel computed and quantized. `reference` [T, n] float32 has the rows
  // that LibTorch computed, not quantized.
  void compare(bool ran, const Fp8Rows& found, const at::Tensor& reference) {
    if (!ran) return refuse("it does not take a shape that it should take");
    const at::Tensor plain = reference.to(type_).to(at::kDouble);
    const at::Tensor scale = found.scale.to(at::kDouble);
    const at::Tensor expected_scale =
        at::amax(at::abs(plain), {1}, /*keepdim=*/true).div(kFp8Largest);
    const at::Tensor half_steps = at::abs(plain).mul(0x1p-4).add(scale.mul(0x1p-10));
    const at::Tensor roundings = at::abs(plain).add(scale).mul(tolerance_of(type_));
    note(at::max(at::abs(found.values.to(at::kDouble).mul(scale).sub(plain))
                     .div(half_steps.add(roundings))));
    note(at::max(at::abs(scale.div(expected_scale).sub(1)).div(tolerance_of(type_))));
  }

  KernelFinding finding(CudaKernel kernel) const {
    KernelFinding finding = {.kernel = kernel, .difference = difference_, .reason = reason_};
    finding.passed = reason_.empty() && difference_ <= 1;
    if (!finding.passed && reason_.empty()) {
      finding.reason =
          fmt::format("it differs from LibTorch by {:f} times what rounding explains", difference_);
    }
    return finding;
  }
  void refuse(std::string reason) { reason_ = std::move(reason); }

 private:
  void note(const at::Tensor& share_of_tolerance) {
    const auto worst = share_of_tolerance.item<double>();
    // A NaN is a difference. The condition keeps a NaN, even if later comparisons find no
    // difference.
    if (!std::isnan(difference_) && !(worst <= difference_)) difference_ = worst;
  }

  CudaKernels kernels_;
  at::Device device_;
  at::ScalarType type_;
  at::Generator generator_ = at::detail::createCPUGenerator(/*seed=*/20240607);
  double difference_ = 0;
  std::string reason_;
};

// In attention_check.cc.
void check_attention(KernelCheck& check);
void check_short_attention(KernelCheck& check);

}  // namespace encode
