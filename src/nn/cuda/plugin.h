// The C interface of libencode_cuda.so, the part of the program that is compiled by nvcc. It holds
// no LibTorch and is opened with dlopen, so that the programs themselves run where no CUDA library
// exists.
//
// Every kernel computes in float32 and rounds once, when it stores. Nothing is added with atomics
// and no sum depends on the number of rows, so a row's bits depend on the row alone. Pointers are
// device memory, strides count elements, `stream` is a cudaStream_t. A launcher returns at once: 0,
// kEncodeCudaUnsupported for a shape or an alignment that it has no code for (nothing was launched
// then), or a cudaError_t. Rows are read and written 16 bytes at a time: pointers must be multiples
// of 16 bytes, widths and strides of 16 / sizeof(element).
#pragma once

#include <cstdint>

extern "C" {

struct EncodeCudaDevice {
  char name[256];
  int32_t major;  // compute capability
  int32_t minor;
  int32_t multiprocessors;
  int64_t total_memory_bytes;
};

// 0, or a cudaError_t. `device` is an ordinal of the CUDA runtime.
int encode_cuda_device(int device, EncodeCudaDevice* out);

enum { kEncodeCudaUnsupported = -1 };

enum EncodeCudaType : int32_t {
  kEncodeCudaFloat32 = 0,
  kEncodeCudaFloat16 = 1,
  kEncodeCudaBFloat16 = 2,
};

enum EncodeCudaActivation : int32_t {
  kEncodeCudaGelu = 0,  // x Phi(x), with erf
  kEncodeCudaGeluTanh = 1,
  kEncodeCudaRelu = 2,
  kEncodeCudaSilu = 3,
};

enum EncodeCudaPooling : int32_t {
  kEncodeCudaPoolCls = 0,
  kEncodeCudaPoolLastToken = 1,
  kEncodeCudaPoolMax = 2,
  kEncodeCudaPoolMean = 3,
  kEncodeCudaPoolMeanSqrtLen = 4,
  kEncodeCudaPoolWeightedMean = 5,
};

// Where a kernel puts rows of e4m3 values with a float32 scale each: nn/fp8/rows.h says which.
struct EncodeCudaFp8Rows {
  void* values;  // [rows, width] dense, a multiple of 16 wide
  float* scale;  // [rows]
};

// s = x + residual; y = norm(s). Row r of x, residual, sum and y begins at
// (r / inner_rows) * outer_stride + (r % inner_rows) * inner_stride, so the rows may be the heads
// inside a fused projection. sum and y may be x.
struct EncodeCudaNorm {
  const void* x;
  const void* residual;   // null: s = x
  void* sum;              // receives s, rounded to the type; null: it is not kept
  const void* weight;     // [width]
  const void* bias;       // [width], null: none
  void* y;                // null with fp8: it is not kept
  EncodeCudaFp8Rows fp8;  // receives y as it is rounded, quantized; bfloat16 only. Null: none
  int64_t rows;
  int64_t width;
  int64_t inner_rows;  // at least 1
  int64_t outer_stride;
  int64_t inner_stride;
  float eps;
  EncodeCudaType type;
  EncodeCudaType weight_type;  // of weight and bias: `type` or float32
  void* stream;
};

// Half-split rotation in place of the first `heads` heads of each row of qkv.
struct EncodeCudaRotary {
  void* qkv;         // [tokens, >= heads, head_dim], heads side by side
  const float* cos;  // [tokens, head_dim / 2]
  const float* sin;
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  int64_t token_stride;
  EncodeCudaType type;
  void* stream;
};

// y = activation(x); gated: y = activation(x[:, :width]) * x[:, width:], x being twice as wide.
struct EncodeCudaElementwise {
  const void* x;
  void* y;                // [rows, width] dense; x itself where not gated
  EncodeCudaFp8Rows fp8;  // receives y as it would be rounded, in its stead; bfloat16 only. Null: y
  int64_t rows;
  int64_t width;
  EncodeCudaActivation activation;
  EncodeCudaType type;
  void* stream;
};

// y = LayerNorm(words[ids] + segment + positions[position_ids]).
struct EncodeCudaEmbedding {
  const void* words;            // [vocab_size, width]
  const void* segment;          // [width], null: none
  const void* positions;        // [.., width], null: none
  const void* weight;           // of the norm, [width]; null: no norm
  const void* bias;             // [width], null: none
  const int64_t* ids;           // [tokens]
  const int64_t* position_ids;  // [tokens]
  void* y;                      // [tokens, width]
  int64_t tokens;
  int64_t width;
  float eps;
  EncodeCudaType type;
  void* stream;
};

// One vector a sequence from its token rows; what a sequence wholly inside the prompt pools to is
// 0, except for cls and the last token.
struct EncodeCudaPool {
  const void* hidden;         // [tokens, width] dense
  const int32_t* cu_seqlens;  // [sequences + 1]
  float* y;                   // row b at b * y_stride
  int64_t sequences;
  int64_t width;
  int64_t y_stride;
  int64_t prompt_tokens;  // leading tokens of each sequence that are left out
  EncodeCudaPooling mode;
  EncodeCudaType type;
  void* stream;
};

// Row r of y.values times y.scale[r] = row r of x, rounded.
struct EncodeCudaQuantize {
  const void* x;  // [rows, width] dense
  EncodeCudaFp8Rows y;
  int64_t rows;
  int64_t width;
  EncodeCudaType type;
  void* stream;
};

struct EncodeCudaKernels {
  int (*layer_norm)(const EncodeCudaNorm*);
  int (*rms_norm)(const EncodeCudaNorm*);
  int (*rotary)(const EncodeCudaRotary*);
  int (*activation)(const EncodeCudaElementwise*);
  int (*gated)(const EncodeCudaElementwise*);
  int (*embedding)(const EncodeCudaEmbedding*);
  int (*pool)(const EncodeCudaPool*);
  int (*quantize_rows)(const EncodeCudaQuantize*);
};

// The launchers above; no pointer in it is null. Never fails.
const EncodeCudaKernels* encode_cuda_kernels(void);
}
