#include "nn/cuda/cuda_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include <c10/core/DeviceGuard.h>

#include "nn/cuda/cuda_device.h"
#include "nn/cuda/kernel_arguments.h"
#include "nn/cuda/kernel_checks.h"
#include "nn/cuda/plugin.h"

namespace encode {
namespace {

std::optional<EncodeCudaActivation> activation_of(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return kEncodeCudaGelu;
    case Activation::kGeluTanh:
      return kEncodeCudaGeluTanh;
    case Activation::kRelu:
      return kEncodeCudaRelu;
    case Activation::kSilu:
      return kEncodeCudaSilu;
    case Activation::kNone:
      break;
  }
  return std::nullopt;
}

bool same_layout(const at::Tensor& other, const at::Tensor& x) {
  return !other.defined() || (other.sizes() == x.sizes() && other.strides() == x.strides() &&
                              other.scalar_type() == x.scalar_type());
}

// Returns true if the tensor is undefined, or if it is a dense vector [width] of the type.
bool is_vector(const at::Tensor& tensor, int64_t width, at::ScalarType type) {
  return !tensor.defined() || (tensor.dim() == 1 && tensor.size(0) == width &&
                               tensor.is_contiguous() && tensor.scalar_type() == type);
}

// Returns true if the tensor is undefined, or if it is a dense matrix [.., width] of the type.
bool is_dense_table(const at::Tensor& tensor, int64_t width, at::ScalarType type) {
  return !tensor.defined() || (tensor.dim() == 2 && tensor.size(1) == width &&
                               tensor.is_contiguous() && tensor.scalar_type() == type);
}

EncodeCudaFp8Rows pointers(const Fp8Rows& rows) {
  return {.values = pointer(rows.values), .scale = rows.scale.mutable_data_ptr<float>()};
}

// Returns true if y has room for `rows` x `width` quantized values.
bool is_fp8(const Fp8Rows& y, int64_t rows, int64_t width) {
  return y.values.dim() == 2 && y.values.size(0) == rows &&
         is_dense_table(y.values, width, at::kFloat8_e4m3fn) && y.scale.size(0) == rows &&
         is_dense_table(y.scale, 1, at::kFloat);
}

}  // namespace

bool launched(CudaKernel kernel, int status) {
  if (status == kEncodeCudaUnsupported) return false;
  if (status != 0) {
    throw CudaLaunchError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                          fmt::format("kernel {} of libencode_cuda.so: CUDA error {}; "
                                      "set ENCODE_CUDA_KERNELS=off to run without these kernels",
                                      to_string(kernel), status));
  }
  return true;
}

const char* to_string(CudaKernel kernel) {
  switch (kernel) {
    case CudaKernel::kLayerNorm:
      return "layer_norm";
    case CudaKernel::kRmsNorm:
      return "rms_norm";
    case CudaKernel::kRotary:
      return "rotary";
    case CudaKernel::kActivation:
      return "activation";
    case CudaKernel::kGated:
      return "gated";
    case CudaKernel::kEmbedding:
      return "embedding";
    case CudaKernel::kPool:
      return "pool";
    case CudaKernel::kQuantize:
      return "quantize_rows";
    case CudaKernel::kAttention:
      return "attention";
    case CudaKernel::kShortAttention:
      return "short_attention";
    case CudaKernel::kFp8LayerNorm:
      return "layer_norm to fp8";
    case CudaKernel::kFp8RmsNorm:
      return "rms_norm to fp8";
    case CudaKernel::kFp8Activation:
      return "activation to fp8";
    case CudaKernel::kFp8Gated:
      break;
  }
  return "gated to fp8";
}

bool is_for(CudaKernel kernel, at::ScalarType type) {
  if (type == at::kBFloat16) return true;
  return kernel < CudaKernel::kFp8LayerNorm &&
         (kernel != CudaKernel::kShortAttention || type == at::kHalf);
}

void CudaKernels::trust(CudaKernel kernel, at::ScalarType type) {
  if (const auto known = type_of(type))
    trusted_[static_cast<size_t>(kernel)].fetch_or(1U << static_cast<unsigned>(*known));
}

bool CudaKernels::trusts(CudaKernel kernel, at::ScalarType type) const {
  const auto known = type_of(type);
  return known && (trusted_[static_cast<size_t>(kernel)].load(std::memory_order_relaxed) >>
                       static_cast<unsigned>(*known) &
                   1U) != 0;
}

bool CudaKernels::norm(CudaKernel kind, const CudaNorm& call) const {
  const at::Tensor& x = call.x;
  const bool layer_norm = kind == CudaKernel::kLayerNorm;
  const CudaKernel to_fp8 = layer_norm ? CudaKernel::kFp8LayerNorm : CudaKernel::kFp8RmsNorm;
  const CudaKernel kernel = call.fp8 ? to_fp8 : kind;
  if (!trusts(kernel, x.scalar_type())) return false;
  const at::ScalarType weight_type = call.weight.scalar_type();
  const int64_t width = x.size(-1);
  if (x.dim() < 2 || x.dim() > 3 || x.stride(-1) != 1 || !same_layout(call.residual, x) ||
      !same_layout(call.sum, x) || !same_layout(call.y, x) ||
      (weight_type != x.scalar_type() && weight_type != at::kFloat) ||
      !is_vector(call.weight, width, weight_type) || !is_vector(call.bias, width, weight_type) ||
      (call.fp8 && (x.dim() != 2 || !is_fp8(*call.fp8, x.size(0), width)))) {
    return false;
  }
  const bool heads = x.dim() == 3;
  const c10::DeviceGuard guard(x.device());
  const EncodeCudaNorm arguments = {.x = pointer(x),
                                    .residual = pointer(call.residual),
                                    .sum = pointer(call.sum),
                                    .weight = pointer(call.weight),
                                    .bias = pointer(call.bias),
                                    .y = pointer(call.y),
                                    .fp8 = call.fp8 ? pointers(*call.fp8) : EncodeCudaFp8Rows{},
                                    .rows = heads ? x.size(0) * x.size(1) : x.size(0),
                                    .width = width,
                                    .inner_rows = heads ? std::max<int64_t>(x.size(1), 1) : 1,
                                    .outer_stride = x.stride(0),
                                    .inner_stride = heads ? x.stride(1) : 0,
                                    .eps = static_cast<float>(call.eps),
                                    .type = *type_of(x.scalar_type()),
                                    .weight_type = *type_of(weight_type),
                                    .stream = current_stream(x)};
  return launched(kernel, (layer_norm ? table_->layer_norm : table_->rms_norm)(&arguments));
}

bool CudaKernels::rotate(const at::Tensor& qkv, int64_t heads, const at::Tensor& cos,
                         const at::Tensor& sin) const {
  if (!trusts(CudaKernel::kRotary, qkv.scalar_type())) return false;
  const int64_t head_dim = qkv.size(2);
  if (qkv.stride(2) != 1 || qkv.stride(1) != head_dim ||
      !is_dense_table(cos, head_dim / 2, at::kFloat) ||
      !is_dense_table(sin, head_dim / 2, at::kFloat)) {
    return false;
  }
  const c10::DeviceGuard guard(qkv.device());
  const EncodeCudaRotary arguments = {.qkv = pointer(qkv),
                                      .cos = cos.const_data_ptr<float>(),
                                      .sin = sin.const_data_ptr<float>(),
                                      .tokens = qkv.size(0),
                                      .heads = heads,
                                      .head_dim = head_dim,
                                      .token_stride = qkv.stride(0),
                                      .type = *type_of(qkv.scalar_type()),
                                      .stream = current_stream(qkv)};
  return launched(CudaKernel::kRotary, table_->rotary(&arguments));
}

bool CudaKernels::activate(const at::Tensor& x, Activation activation,
                           const ElementwiseResult& y) const {
  return elementwise(CudaKernel::kActivation, x, activation, y);
}

bool CudaKernels::gate(const at::Tensor& gate_up, Activation activation,
                       const ElementwiseResult& y) const {
  return elementwise(CudaKernel::kGated, gate_up, activation, y);
}

bool CudaKernels::elementwise(CudaKernel kind, const at::Tensor& x, Activation activation,
                              const ElementwiseResult& y) const {
  const bool gated = kind == CudaKernel::kGated;
  const CudaKernel to_fp8 = gated ? CudaKernel::kFp8Gated : CudaKernel::kFp8Activation;
  const CudaKernel kernel = y.fp8 ? to_fp8 : kind;
  const auto function = activation_of(activation);
  if (!function || !trusts(kernel, x.scalar_type()) || x.dim() != 2 || !x.is_contiguous() ||
      (gated && x.size(1) % 2 != 0)) {
    return false;
  }
  const int64_t rows = x.size(0);
  const int64_t width = gated ? x.size(1) / 2 : x.size(1);
  const bool has_room =
      y.fp8 ? is_fp8(*y.fp8, rows, width)
            : is_dense_table(y.rows, width, x.scalar_type()) && y.rows.size(0) == rows;
  if (!has_room) return false;
  const c10::DeviceGuard guard(x.device());
  const EncodeCudaElementwise arguments = {.x = pointer(x),
                                           .y = pointer(y.rows),
                                           .fp8 = y.fp8 ? pointers(*y.fp8) : EncodeCudaFp8Rows{},
                                           .rows = rows,
                                           .width = width,
                                           .activation = *function,
                                           .type = *type_of(x.scalar_type()),
                                           .stream = current_stream(x)};
  return launched(kernel, (gated ? table_->gated : table_->activation)(&arguments));
}

bool CudaKernels::embed(const CudaEmbedding& call) const {
  const at::ScalarType type = call.words.scalar_type();
  const int64_t width = call.words.size(1);
  if (!trusts(CudaKernel::kEmbedding, type) || !is_dense_table(call.words, width, type) ||
      !is_dense_table(call.positions, width, type) || !is_vector(call.segment, width, type) ||
      !is_vector(call.weight, width, type) || !is_vector(call.bias, width, type) ||
      !is_dense_table(call.y, width, type) || !is_vector(call.ids, call.y.size(0), at::kLong) ||
      !is_vector(call.position_ids, call.y.size(0), at::kLong)) {
    return false;
  }
  const c10::DeviceGuard guard(call.y.device());
  const EncodeCudaEmbedding arguments = {
      .words = pointer(call.words),
      .segment = pointer(call.segment),
      .positions = pointer(call.positions),
      .weight = pointer(call.weight),
      .bias = pointer(call.bias),
      .ids = call.ids.const_data_ptr<int64_t>(),
      .position_ids = call.position_ids.const_data_ptr<int64_t>(),
      .y = pointer(call.y),
      .tokens = call.y.size(0),
      .width = width,
      .eps = static_cast<float>(call.eps),
      .type = *type_of(type),
      .stream = current_stream(call.y)};
  return launched(CudaKernel::kEmbedding, table_->embedding(&arguments));
}

bool CudaKernels::pool(const CudaPool& call) const {
  const at::ScalarType type = call.hidden.scalar_type();
  if (!trusts(CudaKernel::kPool, type) || !call.hidden.is_contiguous() ||
      call.y.scalar_type() != at::kFloat || call.y.stride(1) != 1 ||
      call.y.size(0) + 1 != call.cu_seqlens.size(0)) {
    return false;
  }
  const c10::DeviceGuard guard(call.hidden.device());
  const EncodeCudaPool arguments = {.hidden = pointer(call.hidden),
                                    .cu_seqlens = call.cu_seqlens.const_data_ptr<int32_t>(),
                                    .y = call.y.mutable_data_ptr<float>(),
                                    .sequences = call.y.size(0),
                                    .width = call.hidden.size(1),
                                    .y_stride = call.y.stride(0),
                                    .prompt_tokens = call.prompt_tokens,
                                    .mode = call.mode,
                                    .type = *type_of(type),
                                    .stream = current_stream(call.hidden)};
  return launched(CudaKernel::kPool, table_->pool(&arguments));
}

bool CudaKernels::quantize(const at::Tensor& x, const Fp8Rows& y) const {
  if (!trusts(CudaKernel::kQuantize, x.scalar_type()) || x.dim() != 2 || !x.is_contiguous() ||
      !is_fp8(y, x.size(0), x.size(1))) {
    return false;
  }
  const c10::DeviceGuard guard(x.device());
  const EncodeCudaQuantize arguments = {.x = pointer(x),
                                        .y = pointers(y),
                                        .rows = x.size(0),
                                        .width = x.size(1),
                                        .type = *type_of(x.scalar_type()),
                                        .stream = current_stream(x)};
  return launched(CudaKernel::kQuantize, table_->quantize_rows(&arguments));
}

namespace {

CudaKernels& process_kernels() {
  static CudaKernels kernels(plugin_kernels());
  return kernels;
}

bool switched_off() {
  const char* value = std::getenv("ENCODE_CUDA_KERNELS");
  return plugin_kernels() == nullptr || (value != nullptr && std::string_view(value) == "off");
}

}  // namespace

const CudaKernels& cuda_kernels() { return process_kernels(); }

std::string CudaKernelReport::summary() const {
  if (findings.empty()) return "kernels off";
  const auto passed = std::count_if(findings.begin(), findings.end(),
                                    [](const KernelFinding& finding) { return finding.passed; });
  return fmt::format("{} of {} kernels", passed, findings.size());
}

std::string CudaKernelReport::names() const {
  std::string names;
  for (const KernelFinding& finding : findings) {
    if (finding.passed)
      names += (names.empty() ? "" : ",") + std::string(to_string(finding.kernel));
  }
  return names.empty() ? "off" : names;
}

const CudaKernelReport& open_cuda_kernels(at::Device device, at::ScalarType type) {
  static std::mutex mutex;
  // A std::map never moves its elements, so callers can keep references to them.
  static std::map<at::ScalarType, CudaKernelReport> reports;
  const std::lock_guard lock(mutex);
  const auto [entry, fresh] = reports.try_emplace(type);
  if (fresh && !switched_off()) {
    entry->second.findings = check_kernels(*plugin_kernels(), device, type);
    for (const KernelFinding& finding : entry->second.findings) {
      if (finding.passed) process_kernels().trust(finding.kernel, type);
    }
  }
  return entry->second;
}

}  // namespace encode
