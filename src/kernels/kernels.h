// Row-wise CPU kernels, compiled for several instruction sets and chosen once for the processor.
// They compute and add in float32, whatever type the rows are stored in. Sixteen partial sums are
// added in a fixed order, so a row's result depends on the row and the instruction set alone.
// Single-threaded: the engine runs one batch a thread. No kernel allocates or throws.
#pragma once

#include <cstddef>
#include <cstdint>

namespace encode::kernels {

// Storage of a 16-bit row: the bits, as in memory.
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

// One row to normalize: x, y, weight and bias [n]; bias may be null. x and y may be the same row.
template <typename T>
struct NormRow {
  const T* x;
  const T* weight;
  const T* bias;
  int64_t n;
  float eps;
  T* y;
};

// One head of one token, [2 x half], and the cosines and sines of its position, [half].
template <typename T>
struct RotaryHead {
  T* head;
  const float* cos;
  const float* sin;
  int64_t half;
};

template <typename T>
struct RowKernels {
  // out[i] = in[i].
  void (*widen)(const T* in, int64_t n, float* out);
  // out[i] = in[i] x factor, rounded to nearest even.
  void (*scale)(const float* in, int64_t n, float factor, T* out);
  // (x - mean) / sqrt(variance + eps) x weight + bias (Ba et al. 2016).
  void (*layer_norm)(const NormRow<T>& row);
  // weight x round(x / sqrt(mean(x^2) + eps)): rounded to T before the weight, as Hugging Face's
  // Qwen2RMSNorm does (Zhang & Sennrich 2019).
  void (*rms_norm)(const NormRow<T>& row);
  // Half-split ("neox") rotation in place (Su et al. 2021).
  void (*rotary)(const RotaryHead<T>& head);
};

// At most sixteen rows of 32-bit words, at any address.
struct WordRows {
  const std::byte* first;
  int64_t stride;  // in bytes
  int64_t count;
  int64_t width;  // in words
};

// C [m, n] = A [m, k] x B [k, n], row-major, with the distances between rows in elements.
struct Product {
  int64_t m;  // a multiple of 8
  int64_t n;
  int64_t k;
  int64_t lda;
  int64_t ldb;
  int64_t ldc;
};

struct VectorLinears;  // linear_functions.h

struct Kernels {
  const char* instruction_set;  // "baseline", "avx2", "avx512", "avx512bf16"
  // p[j] = exp(scale x s[j] - the largest of them), j in [0, n), n >= 1; returns the sum of p. Two
  // units in the last place. s and p may be the same.
  float (*exp_scores)(const float* s, int64_t n, float scale, float* p);
  // The same to 1e-5. p is rounded to nearest even; the sum adds the numbers before they are
  // rounded.
  float (*exp_scores_bfloat16)(const float* s, int64_t n, float scale, BFloat16* p);
  // rows -> columns: to[i x columns + j] = word i of row j for j in [0, 16), zero beyond the rows.
  void (*transpose)(const WordRows& rows, int64_t columns, uint32_t* to);
  // out = a[0], b[0], a[1], b[1] .. b[n - 1]; a null b is zeros.
  void (*interleave)(const BFloat16* a, const BFloat16* b, int64_t n, BFloat16* out);
  // Each element of C is one chain of multiply-adds in the order of k.
  void (*multiply)(const Product& product, const float* a, const float* b, float* c);
  // The same for bfloat16 factors, with k and lda even. B has two consecutive rows side by side:
  // b[2 x (i x ldb + j)] and the element behind it are rows 2 i and 2 i + 1 of column j. Null if
  // the instruction set has no such products.
  void (*multiply_pairs)(const Product& product, const BFloat16* a, const BFloat16* b, float* c);
  const VectorLinears* linears;  // null if the instruction set has none
  RowKernels<float> float32;
  RowKernels<BFloat16> bfloat16;
  RowKernels<Float16> float16;

  template <typename T>
  const RowKernels<T>& rows() const;
};

template <>
inline const RowKernels<float>& Kernels::rows() const {
  return float32;
}
template <>
inline const RowKernels<BFloat16>& Kernels::rows() const {
  return bfloat16;
}
template <>
inline const RowKernels<Float16>& Kernels::rows() const {
  return float16;
}

// The instruction sets that the CPU path knows, each including the ones before it. kAvx512Bf16 is
// AVX512_BF16 with AVX512_VNNI.
enum class Capability { kBaseline, kAvx2, kAvx512, kAvx512Bf16, kAmx };

// The best instruction set that may be used: the best that the processor has, or a lesser one if
// ENCODE_CPU_CAPABILITY names it ("baseline", "avx2", "avx512", "avx512bf16", "amx"), so that a
// machine can give the bits of a lesser machine.
// Throws Error kUsage "cpu.capability" for another value of it.
Capability capability();
const char* to_string(Capability capability);
// Whether the processor has AVX512_VNNI, which some have with kAvx512.
bool has_avx512_vnni();

// The best set of row kernels within capability(); kAmx uses the set for AVX512_BF16. That set
// takes subnormal bfloat16 numbers for zero.
const Kernels& kernels();

// Every set that this processor can run, the best one last.
struct KernelSets {
  const Kernels* sets[4];
  int count;
};
KernelSets usable_kernels();

}  // namespace encode::kernels
