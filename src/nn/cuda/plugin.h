// The C interface of libencode_cuda.so. nvcc compiles this library, and the program opens it with
// dlopen(), so the program also runs on machines without CUDA. The library does not use LibTorch.
//
// Rules for all launchers:
// - Pointers are device memory, strides count elements, and `stream` is a cudaStream_t.
// - A launcher does not wait for its kernel. It returns 0, a cudaError_t, or kEncodeCudaUnsupported
//   if it has no code for a shape or an alignment. It then launches nothing.
// - Rows are read and written 16 bytes at a time. Pointers must be multiples of 16 bytes. Widths
//   and strides must be multiples of 16 / sizeof(element).
// - A kernel computes in float32 and rounds once, when it stores.
// - The bits of a result row depend only on the input of this row. No kernel adds with atomics, and
//   the order of a sum does not depend on the number of rows.
#pragma once

#include <cstdint>

#include "encode/pooling_mode.h"

extern "C" {

struct EncodeCudaDevice {
  char name[256];
  int32_t major;  // compute capability
  int32_t minor;
  int32_t multiprocessors;
  int64_t total_memory_bytes;
};

// Returns 0 or a cudaError_t. `device` is an ordinal of the CUDA runtime.
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

// Quantized rows: e4m3 values with one float32 scale for each row. nn/fp8/fp8_rows.h defines them.
struct EncodeCudaFp8Rows {
  void* values;  // [rows, width] dense; width is a multiple of 16
  float* scale;  // [rows]
};

// The arguments of a norm: s = x + residual; y = norm(s). In x, residual, sum and y, row r begins
// at (r / inner_rows) * outer_stride + (r % inner_rows) * inner_stride. A row can therefore be a
// head inside a fused projection. sum and y may be x.
struct EncodeCudaNorm {
  const void* x;
  const void* residual;   // null: s = x
  void* sum;              // receives s, rounded to `type`; null: s is not stored
  const void* weight;     // [width]
  const void* bias;       // [width]; null: no bias
  void* y;                // may be null if fp8 is given: y is then not stored
  EncodeCudaFp8Rows fp8;  // receives the rounded y, quantized; bfloat16 only; null: not needed
  int64_t rows;
  int64_t width;
  int64_t inner_rows;  // at least 1
  int64_t outer_stride;
  int64_t inner_stride;
  float eps;
  EncodeCudaType type;
  EncodeCudaType weight_type;  // type of weight and bias: `type` or float32
  void* stream;
};

// Rotates the first `heads` heads of each token of qkv in place, each pair of elements by one
// angle. The two elements of a pair are head_dim / 2 apart.
struct EncodeCudaRotary {
  void* qkv;         // [tokens, >= heads, head_dim]; the heads of a token are dense
  const float* cos;  // [tokens, head_dim / 2]
  const float* sin;  // [tokens, head_dim / 2]
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  int64_t token_stride;
  EncodeCudaType type;
  void* stream;
};

// The arguments of two launchers:
//   activation   y = f(x), for x [rows, width]
//   gated        y = f(x[:, :width]) * x[:, width:], for x [rows, 2 * width]
struct EncodeCudaElementwise {
  const void* x;          // dense
  void* y;                // [rows, width] dense; for `activation` it may be x
  EncodeCudaFp8Rows fp8;  // receives the rounded y, quantized, in place of y; bfloat16 only;
                          // null: y receives the result
  int64_t rows;
  int64_t width;
  EncodeCudaActivation activation;
  EncodeCudaType type;
  void* stream;
};

// The arguments of the embedding: y = LayerNorm(words[ids] + segment + positions[position_ids]).
struct EncodeCudaEmbedding {
  const void* words;            // [vocab_size, width]
  const void* segment;          // [width]; null: no segment
  const void* positions;        // [.., width]; null: no positions
  const void* weight;           // [width]; null: no normalization
  const void* bias;             // [width]; null: no bias
  const int64_t* ids;           // [tokens]
  const int64_t* position_ids;  // [tokens]
  void* y;                      // [tokens, width] dense
  int64_t tokens;
  int64_t width;
  float eps;
  EncodeCudaType type;
  void* stream;
};

// Pools the token vectors of each sequence into one vector. If the prompt covers a whole sequence,
// its vector is 0, except with cls or last-token pooling.
struct EncodeCudaPool {
  const void* hidden;         // [tokens, width] dense
  const int32_t* cu_seqlens;  // [sequences + 1]
  float* y;                   // [sequences, width]; row b begins at b * y_stride
  int64_t sequences;
  int64_t width;
  int64_t y_stride;
  int64_t prompt_tokens;     // the number of first tokens of each sequence that pooling ignores
  encode::PoolingMode mode;  // not kNone
  EncodeCudaType type;
  void* stream;
};

// Quantizes each row: row r of y.values times y.scale[r] is row r of x, rounded.
struct EncodeCudaQuantize {
  const void* x;  // [rows, width] dense
  EncodeCudaFp8Rows y;
  int64_t rows;
  int64_t width;
  EncodeCudaType type;
  void* stream;
};

// Returns the most tokens of a sequence that short_attention() computes, or 0 if it has no code for
// heads of this size. Up to this length it takes less time on an H100 than FlashAttention-2
// (docs/gpu-measured.md).
constexpr int64_t encode_cuda_short_tokens(int64_t head_dim) {
  if (head_dim == 32 || head_dim == 64) return 64;
  return head_dim == 128 ? 32 : 0;
}

// The arguments of two launchers:
//   attention         y = softmax(softcap(scale (q k + of_query + of_key)) + bias) v, for each
//                     sequence by itself
//   short_attention   y = softmax(scale q k) v, for each sequence of at most
//                     encode_cuda_short_tokens(head_dim) tokens. The rows of y that belong to
//                     longer sequences stay as they are. max_seqlen is the longest sequence that it
//                     computes. It has code for float16 and bfloat16, and for a positive scale.
//                     softcap is 0, and column is null.
// Token t of query begins at t * query_stride, and its heads follow each other without a gap. For a
// pair of a query and a key, column[clamp(key - query, -reach, reach) + reach] is the column of
// bias, of_query and of_key.
struct EncodeCudaAttention {
  const void* query;  // [tokens, heads, head_dim]
  const void* key;    // [tokens, key_heads, head_dim]
  const void* value;  // [tokens, key_heads, head_dim]
  int64_t query_stride;
  int64_t key_stride;
  int64_t value_stride;
  void* y;                    // [tokens, heads, head_dim] dense
  const int32_t* cu_seqlens;  // [sequences + 1]
  int64_t sequences;
  int64_t max_seqlen;
  int64_t heads;  // a multiple of key_heads
  int64_t key_heads;
  int64_t head_dim;
  int64_t left;           // a query sees the keys from `left` before it to `right` behind it;
  int64_t right;          // -1: all
  const int64_t* column;  // [2 * reach + 1]; null if bias, of_query and of_key are null
  int64_t reach;
  int64_t columns;       // the number of columns of bias, of_query and of_key
  const float* bias;     // [heads, columns]; null: none
  const void* of_query;  // [tokens, heads, columns] dense, indexed by the query's token; null: none
  const void* of_key;    // the same, indexed by the key's token
  float scale;
  float softcap;  // 0: none
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
  int (*attention)(const EncodeCudaAttention*);
  int (*short_attention)(const EncodeCudaAttention*);
};

// Returns the table of all launchers. It has no null pointers.
const EncodeCudaKernels* encode_cuda_kernels(void);
}
