// The kernels of the CUDA plugin on tensors, and which of them may be used.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "encode/types.h"

#include "nn/fp8/rows.h"
#include "nn/layers/activation.h"
#include "nn/layers/attention.h"

struct EncodeCudaKernels;

namespace encode {

enum class CudaKernel {
  kLayerNorm,
  kRmsNorm,
  kRotary,
  kActivation,
  kGated,
  kEmbedding,
  kPool,
  kQuantize,
  kAttention,
  // The launchers above when they also quantize their result; for rows of bfloat16 alone.
  kFp8LayerNorm,
  kFp8RmsNorm,
  kFp8Activation,
  kFp8Gated
};
inline constexpr std::array<CudaKernel, 13> kCudaKernels = {
    CudaKernel::kLayerNorm,    CudaKernel::kRmsNorm,    CudaKernel::kRotary,
    CudaKernel::kActivation,   CudaKernel::kGated,      CudaKernel::kEmbedding,
    CudaKernel::kPool,         CudaKernel::kQuantize,   CudaKernel::kAttention,
    CudaKernel::kFp8LayerNorm, CudaKernel::kFp8RmsNorm, CudaKernel::kFp8Activation,
    CudaKernel::kFp8Gated};
const char* to_string(CudaKernel kernel);
bool is_for(CudaKernel kernel, at::ScalarType type);  // whether there is code for rows of the type

// s = x + residual; sum = s; y = norm(s), over the last dimension, which must be dense.
struct CudaNorm {
  at::Tensor x = {};         // [T, width], or [T, heads, width] as a view into a fused projection
  at::Tensor residual = {};  // strides as x; undefined: none
  at::Tensor sum = {};       // strides as x, may be x; undefined: s is not kept
  at::Tensor weight;         // [width], of x's type or float32
  at::Tensor bias = {};      // the same type; undefined: none
  double eps;
  at::Tensor y = {};                // strides as x, may be x; undefined with fp8: y is not kept
  std::optional<Fp8Rows> fp8 = {};  // receives quantize_rows(y), x being [T, width]
};

// y = LayerNorm(words[ids] + segment + positions[position_ids]), all of one type.
struct CudaEmbedding {
  at::Tensor words;           // [vocab_size, width]
  at::Tensor segment = {};    // [width]; undefined: none
  at::Tensor positions = {};  // [.., width]; undefined: none
  at::Tensor weight = {};     // [width]; undefined: no norm
  at::Tensor bias = {};       // [width]; undefined: none
  at::Tensor ids;             // [T] int64
  at::Tensor position_ids;    // [T] int64
  double eps = 0;
  at::Tensor y = {};  // [T, width]
};

// The result of an activation or a gate: dense rows [T, width] of the input's type, or quantized.
struct ElementwiseResult {
  ElementwiseResult(at::Tensor plain) : rows(std::move(plain)) {}
  ElementwiseResult(Fp8Rows quantized) : fp8(std::move(quantized)) {}

  at::Tensor rows;             // undefined with fp8
  std::optional<Fp8Rows> fp8;  // receives quantize_rows() of the rows
};

// What nn/layers/pooling.h says, one mode.
struct CudaPool {
  at::Tensor hidden;      // [T, width]
  at::Tensor cu_seqlens;  // [B + 1] int32
  PoolingMode mode;
  int64_t prompt_tokens;
  at::Tensor y;  // [B, width] float32, dense in the last dimension
};

// A kernel could not be started. The device may be well.
class CudaLaunchError : public c10::Error {
 public:
  using c10::Error::Error;
};

// A table of launchers and the ones of them that are trusted. A function returns false, with
// nothing done, for a kernel that is not trusted with the type, or has no code for the shape: the
// caller then takes LibTorch's operations. They throw CudaLaunchError if a launch fails. All
// work goes to the current stream. trust() may run beside the others; any number of threads.
class CudaKernels {
 public:
  // Trusts none at first. `table` must outlive the object and have no null pointer; no table at all
  // is one that offers nothing.
  explicit CudaKernels(const EncodeCudaKernels* table) : table_(table) {}

  void trust(CudaKernel kernel, at::ScalarType type);
  bool trusts(CudaKernel kernel, at::ScalarType type) const;

  bool norm(CudaKernel kind, const CudaNorm& call) const;  // kLayerNorm or kRmsNorm
  // nn/layers/rotary.h: rotate().
  bool rotate(const at::Tensor& qkv, int64_t heads, const at::Tensor& cos,
              const at::Tensor& sin) const;
  // Dense [T, width]; y may be x.
  bool activate(const at::Tensor& x, Activation activation, const ElementwiseResult& y) const;
  // gate_up twice as wide as y.
  bool gate(const at::Tensor& gate_up, Activation activation, const ElementwiseResult& y) const;
  bool embed(const CudaEmbedding& call) const;
  bool pool(const CudaPool& call) const;
  // quantize_rows() of x [T, width] into tensors that are there.
  bool quantize(const at::Tensor& x, const Fp8Rows& y) const;
  // varlen_attention() with all its terms. y is [T, heads, head_dim] dense.
  bool attend(const AttentionInput& input, const PackedInput& batch,
              const AttentionOptions& options, const at::Tensor& y) const;

 private:
  bool elementwise(CudaKernel kind, const at::Tensor& x, Activation activation,
                   const ElementwiseResult& y) const;

  const EncodeCudaKernels* table_;
  std::array<std::atomic<uint32_t>, kCudaKernels.size()> trusted_ = {};  // a bit a type
};

// One kernel against the LibTorch operations that it replaces, on small random input.
struct KernelFinding {
  CudaKernel kernel;
  bool passed = false;
  double difference = 0;  // the largest, as a share of the tolerance
  std::string reason;     // of a refusal
};

// The plugin's kernels; none trusted before open_cuda_kernels(). Only once open_device() has opened
// the plugin.
const CudaKernels& cuda_kernels();

// What became of the kernels for one type.
struct CudaKernelReport {
  std::vector<KernelFinding> findings;  // empty: switched off
  std::string summary() const;          // "12 of 12 kernels", "kernels off"
};

// Checks the plugin's kernels for a type, the first time that it is asked for, and trusts those
// that pass. ENCODE_CUDA_KERNELS=off in the environment leaves all of them out. Any number of
// threads.
const CudaKernelReport& open_cuda_kernels(at::Device device, at::ScalarType type);

}  // namespace encode
