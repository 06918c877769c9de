#include "nn/cuda/kernel_checks.h"

#include <cmath>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include "base/pooling_modes.h"
#include "nn/cuda/cuda_device.h"
#include "nn/cuda/kernel_check.h"
#include "nn/layers/pooling.h"

namespace encode {
namespace {

constexpr int64_t kTokens = 37;    // not a multiple of the number of rows in a block
constexpr int64_t kFewTokens = 3;  // fewer tokens for wide rows, to save time
constexpr double kEps = 1e-6;
at::Tensor norm_reference(CudaKernel kind, const at::Tensor& x, const CudaNorm& call) {
  const at::Tensor weight = call.weight.to(at::kFloat);
  if (kind == CudaKernel::kLayerNorm)
    return at::layer_norm(x, {x.size(-1)}, weight, call.bias.to(at::kFloat), call.eps);
  return x.mul(at::rsqrt(x.mul(x).mean(-1, /*keepdim=*/true).add(call.eps))).mul(weight);
}

void check_norm(KernelCheck& check, CudaKernel kind) {
  // A thread keeps one vector of 16 bytes for a width of 384, and several for 5120.
  for (const int64_t width : {384, 5120}) {
    CudaNorm call = {.x = check.random({kTokens, width}),
                     .residual = check.random({kTokens, width}),
                     .weight = check.random({width}),
                     .eps = kEps};
    if (kind == CudaKernel::kLayerNorm) call.bias = check.random({width});
    call.y = at::empty_like(call.x);
    const at::Tensor sum = call.x.to(at::kFloat).add(call.residual.to(at::kFloat));
    const at::Tensor rounded = sum.to(call.x.scalar_type()).to(at::kFloat);
    const at::Tensor expected = norm_reference(kind, rounded, call);
    call.sum = call.x;
    const bool ran = check.kernels().norm(kind, call);
    check.compare(ran, call.y, expected);
    check.compare(ran, call.sum, sum);
  }
  // Normalizes heads of a fused projection in place with a float32 weight, as Gemma and Qwen3 do.
  const at::Tensor projection = check.random({kTokens, 8, 64});
  CudaNorm call = {
      .x = projection.narrow(1, 2, 5), .weight = check.random({64}, at::kFloat), .eps = kEps};
  if (kind == CudaKernel::kLayerNorm) call.bias = check.random({64}, at::kFloat);
  call.y = call.x;
  const at::Tensor before = projection.to(at::kFloat);
  const at::Tensor expected =
      at::cat({before.narrow(1, 0, 2), norm_reference(kind, before.narrow(1, 2, 5), call),
               before.narrow(1, 7, 1)},
              1);
  check.compare(check.kernels().norm(kind, call), projection, expected);
}

void check_rotary(KernelCheck& check) {
  constexpr int64_t kHeads = 5;  // The other 2 of the 7 heads must not change.
  for (const int64_t head_dim : {64, 128}) {
    const at::Tensor qkv = check.random({kTokens, 7, head_dim});
    const at::Tensor angle = check.random({kTokens, head_dim / 2}, at::kFloat);
    const at::Tensor cos = angle.cos();
    const at::Tensor sin = angle.sin();
    const at::Tensor wide = qkv.to(at::kFloat);
    const at::Tensor first = wide.narrow(1, 0, kHeads).narrow(2, 0, head_dim / 2);
    const at::Tensor second = wide.narrow(1, 0, kHeads).narrow(2, head_dim / 2, head_dim / 2);
    const at::Tensor c = cos.unsqueeze(1);
    const at::Tensor s = sin.unsqueeze(1);
    const at::Tensor turned =
        at::cat({first.mul(c).sub(second.mul(s)), second.mul(c).add(first.mul(s))}, 2);
    const at::Tensor expected = at::cat({turned, wide.narrow(1, kHeads, 2)}, 1);
    check.compare(check.kernels().rotate(qkv, kHeads, cos, sin), qkv, expected);
  }
}

constexpr Activation kActivations[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                       Activation::kSilu};

void check_activation(KernelCheck& check) {
  for (const Activation kind : kActivations) {
    const at::Tensor x = check.random({kTokens, 3072});
    const at::Tensor expected = activate(x.to(at::kFloat), kind);
    check.compare(check.kernels().activate(x, kind, x), x, expected);
  }
}

void check_gated(KernelCheck& check) {
  constexpr int64_t kWidth = 1544;  // The last warp is not full.
  for (const Activation kind : kActivations) {
    const at::Tensor x = check.random({kTokens, 2 * kWidth});
    const at::Tensor y = at::empty({kTokens, kWidth}, x.options());
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor expected =
        activate(wide.narrow(1, 0, kWidth), kind).mul(wide.narrow(1, kWidth, kWidth));
    check.compare(check.kernels().gate(x, kind, y), y, expected);
  }
}

void check_embedding(KernelCheck& check) {
  constexpr int64_t kWidth = 768;
  constexpr int64_t kVocabulary = 50;
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;
  for (int64_t t = 0; t < kTokens; ++t) {
    ids.push_back((t * 7 + 3) % kVocabulary);
    positions.push_back(t % 11);
  }
  CudaEmbedding call = {.words = check.random({kVocabulary, kWidth}),
                        .segment = check.random({kWidth}),
                        .positions = check.random({11, kWidth}),
                        .weight = check.random({kWidth}),
                        .bias = check.random({kWidth}),
                        .ids = check.indices(ids),
                        .position_ids = check.indices(positions),
                        .eps = kEps};
  call.y = at::empty({kTokens, kWidth}, call.words.options());
  const at::Tensor words = at::embedding(call.words.to(at::kFloat), call.ids);
  const at::Tensor sum = words.add(call.segment.to(at::kFloat))
                             .add(at::embedding(call.positions.to(at::kFloat), call.position_ids));
  check.compare(
      check.kernels().embed(call), call.y,
      at::layer_norm(sum, {kWidth}, call.weight.to(at::kFloat), call.bias.to(at::kFloat), kEps));
  call.segment = call.positions = call.weight = call.bias = at::Tensor();
  check.compare(check.kernels().embed(call), call.y, words);
}

void check_pool(KernelCheck& check) {
  constexpr int64_t kWidth = 384;
  const std::vector<int64_t> lengths = {1, 7, 100, 33, 9};
  std::vector<int32_t> ends = {0};
  std::vector<int64_t> positions;
  for (const int64_t length : lengths) {
    ends.push_back(ends.back() + static_cast<int32_t>(length));
    for (int64_t t = 0; t < length; ++t) positions.push_back(t);
  }
  // The last 3 rows belong to no sequence, so they must not change the result.
  const at::Tensor hidden = check.random({ends.back() + 3, kWidth});
  const at::Tensor cu_seqlens = at::tensor(ends, at::kInt).to(check.device());
  PackedInput batch;
  batch.cu_seqlens = ends;
  batch.position_ids = check.indices(positions);
  for (const auto& [name, mode] : kPoolingModes) {
    const bool is_alias = name != to_string(mode);
    if (is_alias || mode == PoolingMode::kNone) continue;
    for (const int64_t prompt_tokens : {0, 3}) {
      batch.prompt_tokens = prompt_tokens;
      const at::Tensor y =
          at::full({batch.sequences(), kWidth}, NAN, hidden.options().dtype(at::kFloat));
      const bool ran = check.kernels().pool({.hidden = hidden,
                                             .cu_seqlens = cu_seqlens,
                                             .mode = mode,
                                             .prompt_tokens = prompt_tokens,
                                             .y = y});
      check.compare(ran, y, pool_by_operations(hidden, batch, {mode}));
    }
  }
}

// The kernel and the reference multiply and round as nn/fp8/fp8_rows.h defines, so the values must
// be the same.
void check_quantize(KernelCheck& check) {
  constexpr int64_t kRows = 9;
  const auto vector = static_cast<int64_t>(16 / check.random({1}).element_size());
  for (const int64_t vectors : {48, 196, 2368}) {
    const at::Tensor x = check.random({kRows, vectors * vector});
    x.select(0, 5).zero_();
    x.select(0, 6).mul_(0x1p-12);             // Many of these numbers are subnormal in float16.
    x.select(0, 7).slice(0, 1).mul_(0x1p-8);  // Scaled with the first, these are subnormal in e4m3.
    x.select(0, 7).select(0, 0).fill_(100);
    const Fp8Rows expected = quantize_rows_by_operations(x);
    const Fp8Rows found = {at::empty_like(expected.values), at::empty_like(expected.scale)};
    const bool ran = check.kernels().quantize(x, found);
    check.compare(ran, found.values.to(at::kFloat), expected.values.to(at::kFloat));
    check.compare(ran, found.scale.div(expected.scale), at::ones_like(expected.scale));
  }
  const at::Tensor x = check.random({2, 384});
  x.select(0, 0).select(0, 200).fill_(NAN);
  x.select(0, 1).select(0, 100).fill_(-INFINITY);
  const Fp8Rows found = {at::empty_like(x, at::kFloat8_e4m3fn),
                         at::empty({2, 1}, x.options().dtype(at::kFloat))};
  const bool ran = check.kernels().quantize(x, found);
  check.compare(ran, at::isfinite(found.scale).to(at::kFloat), at::zeros_like(found.scale));
}

void check_fp8_norm(KernelCheck& check, CudaKernel kind) {
  for (const int64_t width : {384, 5120}) {  // A thread keeps one vector of 16 bytes, or several.
    for (const bool keeps_rows : {false, true}) {
      CudaNorm call = {.x = check.random({kFewTokens, width}),
                       .residual = check.random({kFewTokens, width}),
                       .weight = check.random({width}),
                       .eps = kEps};
      if (kind == CudaKernel::kLayerNorm) call.bias = check.random({width});
      call.fp8 = empty_fp8_rows(call.x.sizes(), call.x);
      if (keeps_rows) call.y = at::empty_like(call.x);
      const at::Tensor sum = call.x.to(at::kFloat).add(call.residual.to(at::kFloat));
      const at::Tensor rounded = sum.to(call.x.scalar_type()).to(at::kFloat);
      const at::Tensor expected = norm_reference(kind, rounded, call);
      call.sum = call.x;
      const bool ran = check.kernels().norm(kind, call);
      check.compare(ran, *call.fp8, expected);
      check.compare(ran, call.sum, sum);
      if (keeps_rows) check.compare(ran, call.y, expected);
    }
  }
}

void check_fp8_activation(KernelCheck& check, bool gated) {
  for (const int64_t width : {384, 18944}) {  // A thread computes one vector, or several.
    for (const Activation kind : kActivations) {
      const at::Tensor x = check.random({kFewTokens, gated ? 2 * width : width});
      const at::Tensor wide = x.to(at::kFloat);
      const at::Tensor left = activate(wide.narrow(1, 0, width), kind);
      const at::Tensor expected = gated ? left.mul(wide.narrow(1, width, width)) : left;
      const Fp8Rows y = empty_fp8_rows({kFewTokens, width}, x);
      const bool ran =
          gated ? check.kernels().gate(x, kind, y) : check.kernels().activate(x, kind, y);
      check.compare(ran, y, expected);
    }
  }
}

void check_kernel(KernelCheck& check, CudaKernel kernel) {
  switch (kernel) {
    case CudaKernel::kLayerNorm:
    case CudaKernel::kRmsNorm:
      return check_norm(check, kernel);
    case CudaKernel::kRotary:
      return check_rotary(check);
    case CudaKernel::kActivation:
      return check_activation(check);
    case CudaKernel::kGated:
      return check_gated(check);
    case CudaKernel::kEmbedding:
      return check_embedding(check);
    case CudaKernel::kPool:
      return check_pool(check);
    case CudaKernel::kQuantize:
      return check_quantize(check);
    case CudaKernel::kAttention:
      return check_attention(check);
    case CudaKernel::kShortAttention:
      return check_short_attention(check);
    case CudaKernel::kFp8LayerNorm:
      return check_fp8_norm(check, CudaKernel::kLayerNorm);
    case CudaKernel::kFp8RmsNorm:
      return check_fp8_norm(check, CudaKernel::kRmsNorm);
    case CudaKernel::kFp8Activation:
      return check_fp8_activation(check, /*gated=*/false);
    case CudaKernel::kFp8Gated:
      return check_fp8_activation(check, /*gated=*/true);
  }
}

// Returns true if the plugin has code of the kernel for the device. Tests pass a CPU.
bool runs_on(at::Device device, CudaKernel kernel) {
  return kernel != CudaKernel::kShortAttention || device.is_cpu() ||
         supports_flash_attention(device);
}

}  // namespace

std::vector<KernelFinding> check_kernels(const EncodeCudaKernels& table, at::Device device,
                                         at::ScalarType type) {
  std::vector<KernelFinding> findings;
  for (const CudaKernel kernel : kCudaKernels) {
    if (!is_for(kernel, type) || !runs_on(device, kernel)) continue;
    KernelCheck check(table, device, type);
    try {
      check_kernel(check, kernel);
    } catch (const CudaLaunchError& error) {
      check.refuse(error.msg());
    }
    findings.push_back(check.finding(kernel));
  }
  return findings;
}

}  // namespace encode
