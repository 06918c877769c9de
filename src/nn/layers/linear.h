// y = x W^T + b, with the activation or the residual addition fused if the device can do so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/cpu/packed_linear.h"
#include "nn/fp8/linear.h"
#include "nn/layers/activation.h"
#include "nn/layers/product_format.h"
#include "nn/layers/residual.h"

namespace encode {

// On CPU a product of LibTorch's runs on exactly this many token rows: oneDNN may choose another
// kernel, and so another order of summation, for another row count, and then a row's bits would
// depend on its neighbours. The project's own kernels take any number.
inline constexpr int64_t kCpuBlockTokens = 512;

// The token slots that a batch of `tokens` should be filled up to on CPU, so that no product of
// this format has to copy its input: whole blocks for LibTorch, else `tokens` itself.
int64_t cpu_slots(int64_t tokens, ProductFormat format);
int64_t whole_blocks(int64_t tokens);  // of kCpuBlockTokens

// Immutable; any number of threads. On CPU the weight is repacked once, for the project's own
// kernels or else for oneDNN, and the original let go. With ProductFormat::kFp8 the weight is
// quantized instead.
//
// LibTorch has one float32 precision for the whole process, which cuBLAS reads at each product. It
// stays at "highest"; a Linear with ProductFormat::kFloat32High changes it for its own products on
// a GPU and puts it back, so such products are for one thread at a time. On CPU nothing reads it.
class Linear {
 public:
  // weight [out_features, in_features], which is not kept on CPU; bias [out_features] or undefined;
  // both on the device. The operands are of the weight's type, as they are.
  Linear(const at::Tensor& weight, const at::Tensor& bias,
         Activation activation = Activation::kNone)
      : Linear({weight}, bias, activation, {.format = format_of(weight.scalar_type())}) {}
  // The rows of several weights [.., in_features] one below the other. Weights and bias are of the
  // format's compute type; for kFp8 on CPU they may be of another type, which results then have.
  Linear(const std::vector<at::Tensor>& weights, at::Tensor bias, Activation activation,
         const ProductOptions& options);

  // [T, in_features] -> [T, out_features]: activation(x W^T + b).
  at::Tensor operator()(const LinearInput& x) const;
  // The same in the form that the product reads which comes next.
  LinearInput operator()(const LinearInput& x, const Linear& next) const;
  // residual + x W^T + b. Only for Activation::kNone.
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const;

  // The same as operator(), for inputs whose row count differs from call to call: in blocks of
  // fixed size on every device.
  at::Tensor in_blocks(const at::Tensor& x) const { return blocks(x, {}); }

  int64_t out_features() const { return out_features_; }
  bool quantizes() const { return ours_ && ours_->quantizes(); }  // dtype int8
  bool takes_fp8() const { return fp8_.has_value(); }             // dtype fp8

 private:
  at::Tensor product(const LinearInput& x) const;  // the whole, not on CPU
  at::Tensor plain_product(const at::Tensor& x) const;
  bool activated_by_product() const;
  void launch(const at::Tensor& x, at::Tensor& out) const;
  at::Tensor block(const at::Tensor& x, const at::Tensor& residual) const;
  at::Tensor blocks(const at::Tensor& x, const at::Tensor& residual) const;

  std::optional<Fp8Linear> fp8_;
  std::optional<PackedLinear> ours_;
  at::Tensor weight_;  // dense [out, in], or oneDNN's packed form; undefined with fp8_ or ours_
  at::Tensor bias_;
  Activation activation_;
  ProductOptions options_;
  int64_t out_features_ = 0;
  bool packed_ = false;
};

}  // namespace encode
