// Runs the kernels of the CUDA plugin on tensors, and keeps a list of the kernels that may be used.
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

#include "nn/fp8/fp8_rows.h"
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
  kShortAttention,  // only for float16 and bfloat16
  // These kernels compute the same as the kernels with the same names above, and also quantize the
  // result. They exist only for bfloat16.
  kFp8LayerNorm,
  kFp8RmsNorm,
  kFp8Activation,
  kFp8Gated
};
inline constexpr std::array<CudaKernel, 14> kCudaKernels = {
    CudaKernel::kLayerNorm,      CudaKernel::kRmsNorm,      CudaKernel::kRotary,
    CudaKernel::kActivation,     CudaKernel::kGated,        CudaKernel::kEmbedding,
    CudaKernel::kPool,           CudaKernel::kQuantize,     CudaKernel::kAttention,
    CudaKernel::kShortAttention, CudaKernel::kFp8LayerNorm, CudaKernel::kFp8RmsNorm,
    CudaKernel::kFp8Activation,  CudaKernel::kFp8Gated};
const char* to_string(CudaKernel kernel);
bool is_for(CudaKernel kernel, at::ScalarType type);  // true if the kernel has code for the type

// The arguments of a norm: s = x + residual; sum = s; y = norm(s). The norm is over the last
// dimension, which must be dense. residual, sum and y have the type, sizes and strides of x.
struct CudaNorm {
  at::Tensor x = {};         // [T, width], or [T, heads, width] as a view into a fused projection
  at::Tensor residual = {};  // undefined: s = x
  at::Tensor sum = {};       // may be x; undefined: s is not stored
  at::Tensor weight;         // [width], of x's type or float32
  at::Tensor bias = {};      // [width], of weight's type; undefined: no bias
  double eps;
  at::Tensor y = {};                // may be x; undefined: y is not stored, which needs fp8
  std::optional<Fp8Rows> fp8 = {};  // receives quantize_rows(y); only for x [T, width]
};

// The arguments of the embedding: y = LayerNorm(words[ids] + segment + positions[position_ids]).
// All tensors except `ids` and `position_ids` have the same type.
struct CudaEmbedding {
  at::Tensor words;           // [vocab_size, width]
  at::Tensor segment = {};    // [width]; undefined: no segment
  at::Tensor positions = {};  // [.., width]; undefined: no positions
  at::Tensor weight = {};     // [width]; undefined: no normalization
  at::Tensor bias = {};       // [width]; undefined: no bias
  at::Tensor ids;             // [T] int64
  at::Tensor position_ids;    // [T] int64
  double eps = 0;
  at::Tensor y = {};  // [T, width]
};

// Receives the result of an activation or a gate. Either `rows` or `fp8` is given.
struct ElementwiseResult {
  ElementwiseResult(at::Tensor plain) : rows(std::move(plain)) {}
  ElementwiseResult(Fp8Rows quantized) : fp8(std::move(quantized)) {}

  at::Tensor rows;             // [T, width] dense, of the input's type; undefined if fp8 is given
  std::optional<Fp8Rows> fp8;  // receives quantize_rows() of the rows
};

// The arguments of pooling in one mode, as nn/layers/pooling.h defines it.
struct CudaPool {
  at::Tensor hidden;      // [T, width]
  at::Tensor cu_seqlens;  // [B + 1] int32
  PoolingMode mode;
  int64_t prompt_tokens;
  at::Tensor y;  // [B, width] float32, dense in the last dimension
};

// Sequences of a batch for CudaKernels::attend_short(), which leaves out those with more than
// CudaKernels::most_short_tokens().
struct ShortSequences {
  at::Tensor cu_seqlens;  // [sequences + 1] int32, on the device
  int64_t longest;        // the most tokens of one that is not left out
};

// Thrown if a kernel could not be launched. The device may still work.
class CudaLaunchError : public c10::Error {
 public:
  using c10::Error::Error;
};

// Runs the kernels of a table of launchers. A member function that runs a kernel returns true if it
// has launched the kernel. It returns false and does nothing if the kernel is not trusted with the
// type of its input, or if it has no code for the shape. The caller then uses LibTorch's
// operations. It throws CudaLaunchError if the launch fails. The kernel is queued on LibTorch's
// current stream, and the function does not wait for it. Any number of threads may call any
// function.
class CudaKernels {
 public:
  // At first no kernel is trusted. `table` must outlive the object and have no null pointer.
  // `table` itself may be null if trust() is never called.
  explicit CudaKernels(const EncodeCudaKernels* table) : table_(table) {}

  void trust(CudaKernel kernel, at::ScalarType type);
  bool trusts(CudaKernel kernel, at::ScalarType type) const;

  bool norm(CudaKernel kind, const CudaNorm& call) const;  // `kind` is kLayerNorm or kRmsNorm
  // Does what rotate() of nn/layers/rotary.h does.
  bool rotate(const at::Tensor& qkv, int64_t heads, const at::Tensor& cos,
              const at::Tensor& sin) const;
  // x is [T, width], dense. y may be x.
  bool activate(const at::Tensor& x, Activation activation, const ElementwiseResult& y) const;
  // gate_up is [T, 2 * width], dense, for y [T, width].
  bool gate(const at::Tensor& gate_up, Activation activation, const ElementwiseResult& y) const;
  bool embed(const CudaEmbedding& call) const;
  bool pool(const CudaPool& call) const;
  // Writes quantize_rows() of x [T, width] to y.
  bool quantize(const at::Tensor& x, const Fp8Rows& y) const;
  // Computes varlen_attention() with all its options. y is [T, heads, head_dim] dense.
  bool attend(const AttentionInput& input, const PackedInput& batch,
              const AttentionOptions& options, const at::Tensor& y) const;
  // Returns the most tokens of a sequence that attend_short() computes for heads of this type and
  // size, or 0 if it may not be used for them.
  int64_t most_short_tokens(at::ScalarType type, int64_t head_dim) const;
  // Computes short sequences as attend() does, and leaves all other rows of y as they are. The
  // options have only a scale and a window.
  bool attend_short(const AttentionInput& input, const ShortSequences& sequences,
                    const AttentionOptions& options, const at::Tensor& y) const;

 private:
  bool elementwise(CudaKernel kind, const at::Tensor& x, Activation activation,
                   const ElementwiseResult& y) const;

  const EncodeCudaKernels* table_;
  std::array<std::atomic<uint32_t>, kCudaKernels.size()> trusted_ = {};  // one bit for each type
};

// The result of comparing one kernel with the LibTorch operations that it replaces, on small random
// input.
struct KernelFinding {
  CudaKernel kernel;
  bool passed = false;
  double difference = 0;  // the largest difference, divided by the tolerance
  std::string reason;     // why the kernel has not passed, or ""
};

// Returns the plugin's kernels. open_device() must have opened the plugin before the first call. No
// kernel is trusted before open_cuda_kernels().
const CudaKernels& cuda_kernels();

// What open_cuda_kernels() found for one type.
struct CudaKernelReport {
  std::vector<KernelFinding> findings;  // empty if the kernels are switched off
  std::string summary() const;          // "14 of 14 kernels", "kernels off"
  // The names of the kernels that have passed, "layer_norm,pool", or "off" if there are none.
  std::string names() const;
};

// Checks the plugin's kernels for a type and trusts the kernels that pass. Each type is checked
// only once in a process; later calls return the same report. If the environment variable
// ENCODE_CUDA_KERNELS is "off", no kernel is checked or trusted. Any number of threads may call
// this function.
const CudaKernelReport& open_cuda_kernels(at::Device device, at::ScalarType type);

}  // namespace encode
