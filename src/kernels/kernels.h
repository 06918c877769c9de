// CPU kernels for single rows and small matrix products. They are compiled for several instruction
// sets, and one set is chosen when the program runs.
//
// The kernels compute in float32, whatever type the rows are stored in. A sum over a row has
// sixteen partial sums, one for each lane, which are added in a fixed order at the end. So the
// result for a row depends only on the row and on the instruction set.
//
// Each kernel runs on the calling thread, and any number of threads may call it. No kernel
// allocates or throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace encode::kernels {

// The number of queries that one matrix product of attention on the CPU multiplies with the keys.
// It is large enough to use each loaded block of keys well, and small enough that the scores of a
// long sequence stay in cache. The memory plan counts these scores.
inline constexpr int64_t kAttentionQueryBlock = 32;

// The bits of a 16-bit floating-point number, as they are in memory.
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

// One row to normalize. x, y, weight and bias are [n]. bias may be null. x and y may be the same
// row.
template <typename T>
struct NormRow {
  const T* x;
  const T* weight;
  const T* bias;
  int64_t n;
  float eps;
  T* y;
};

// One head of one token, [2 x half], and the cosines and sines of the token's position, [half].
template <typename T>
struct RotaryHead {
  T* head;
  const float* cos;
  const float* sin;
  int64_t half;
};

template <typename T>
struct RowKernels {
  // out[i] = in[i], exactly.
  void (*widen)(const T* in, int64_t n, float* out);
  // out[i] = in[i] x factor, rounded to nearest even.
  void (*scale)(const float* in, int64_t n, float factor, T* out);
  // Computes (x - mean) / sqrt(variance + eps) x weight + bias (Ba et al. 2016).
  void (*layer_norm)(const NormRow<T>& row);
  // Computes weight x round(x / sqrt(mean(x^2) + eps)) (Zhang & Sennrich 2019). round() rounds to T
  // before the weight is applied, as Qwen2RMSNorm in Hugging Face Transformers does.
  void (*rms_norm)(const NormRow<T>& row);
  // Rotates the head in place (RoFormer, Su et al. 2021). Element i is paired with element half +
  // i, as in GPT-NeoX.
  void (*rotary)(const RotaryHead<T>& head);
};

// At most sixteen rows of 32-bit words, which need no alignment.
struct WordRows {
  const std::byte* first;
  int64_t stride;  // in bytes
  int64_t count;
  int64_t width;  // in words
};

// The shape of a matrix product C [m, n] = A [m, k] x B [k, n]. The matrices are row-major. lda,
// ldb and ldc are the distances between two rows, in elements.
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
  const char* instruction_set;  // CapabilityFacts::name
  // True: kernels treat subnormal bfloat16 numbers as zero, because the instructions for bfloat16
  // do so.
  bool flushes_subnormal_bfloat16;
  // p[j] = exp(scale x s[j] - m) for j in [0, n), with n >= 1, where m is the largest scale x s[j].
  // Returns the sum of p. The error of p[j] is at most two units in the last place. s and p may be
  // the same. If a score is NaN, the sum is NaN.
  float (*exp_scores)(const float* s, int64_t n, float scale, float* p);
  // Does the same as exp_scores, but with a relative error of at most 1e-5 before each p[j] is
  // rounded to the nearest bfloat16 number (ties to even). The sum adds the numbers before they are
  // rounded.
  float (*exp_scores_bfloat16)(const float* s, int64_t n, float scale, BFloat16* p);
  // Transposes rows: to[i x columns + j] = word i of row j for j in [0, 16). Words of rows that do
  // not exist are zero.
  void (*transpose)(const WordRows& rows, int64_t columns, uint32_t* to);
  // out = a[0], b[0], a[1], b[1], ..., b[n - 1]. If b is null, its elements are zero.
  void (*interleave)(const BFloat16* a, const BFloat16* b, int64_t n, BFloat16* out);
  // Multiplies float32 matrices. Each element of C is one chain of multiply-adds in the order of
  // the inner dimension.
  void (*multiply)(const Product& product, const float* a, const float* b, float* c);
  // Multiplies bfloat16 matrices in the same way, with float32 sums. Each link of the chain adds
  // the products of two consecutive values of the inner dimension. k and lda are even. Two
  // consecutive rows of B are interleaved: b[2 x (i x ldb + j)] is the element in row 2 i and
  // column j, and the next element is in row 2 i + 1 of the same column. Null if the instruction
  // set cannot multiply pairs of bfloat16 numbers.
  void (*multiply_pairs)(const Product& product, const BFloat16* a, const BFloat16* b, float* c);
  // Each of these returns a sum over i in [0, n): of the products a[i] x b[i], of the squares
  // (a[i] - b[i])^2, or of the magnitudes |a[i] - b[i]|.
  float (*dot)(const float* a, const float* b, int64_t n);
  float (*squared_distance)(const float* a, const float* b, int64_t n);
  float (*absolute_distance)(const float* a, const float* b, int64_t n);
  // out[i] = in[i], exactly.
  void (*widen_int8)(const int8_t* in, int64_t n, float* out);
  void (*widen_uint8)(const uint8_t* in, int64_t n, float* out);
  const VectorLinears* linears;  // null if the instruction set has no kernels of packed_product.h
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

// The instruction sets that the CPU kernels use. kNeon is the only one on 64-bit ARM. The others
// are those of x86-64, and each one includes those before it. kAvx512Bf16 is AVX512_BF16 together
// with AVX512_VNNI. The table kInstructionSets in kernels.cc says when a processor has a set.
enum class Capability { kBaseline, kNeon, kAvx2, kAvx512, kAvx512Bf16, kAmx };

// The floating-point operations of one core in a cycle, for the types of matrix products. A
// multiply-add counts as two. A type that is not here has the number of float32.
struct FlopsPerCycle {
  double float32 = 0;
  double bfloat16 = 0;
  double int8 = 0;
};

struct CapabilityFacts {
  const char* name = "";  // as users and records name it
  FlopsPerCycle flops = {};
  bool has_tiles = false;  // true: the kernels on AMX tiles can be used (amx.h)
};

constexpr CapabilityFacts facts_of(Capability capability) {
  switch (capability) {
    case Capability::kBaseline:
      return {.name = "baseline", .flops = {.float32 = 8, .bfloat16 = 8, .int8 = 8}};
    case Capability::kNeon:
      // Two units, as in a Neoverse N1. A Neoverse V1 or V2 has four.
      return {.name = "neon", .flops = {.float32 = 16, .bfloat16 = 16, .int8 = 16}};
    case Capability::kAvx2:
      return {.name = "avx2", .flops = {.float32 = 32, .bfloat16 = 32, .int8 = 64}};
    case Capability::kAvx512:
      return {.name = "avx512", .flops = {.float32 = 64, .bfloat16 = 64, .int8 = 128}};
    case Capability::kAvx512Bf16:
      return {.name = "avx512bf16", .flops = {.float32 = 64, .bfloat16 = 128, .int8 = 128}};
    case Capability::kAmx:
      return {.name = "amx",
              .flops = {.float32 = 96, .bfloat16 = 1024, .int8 = 1024},
              .has_tiles = true};
  }
  return {};
}

// Returns the best instruction set of the processor.
Capability processor_capability();

// Returns the best instruction set that may be used. This is the best one that the processor has,
// or a lesser one if the environment variable ENCODE_CPU_CAPABILITY names it. With the variable, a
// processor can reproduce the bits of an older processor. Throws Error kUsage "cpu.capability" if
// the variable has a value that capabilities_in_words() does not list.
Capability capability();
const char* to_string(Capability capability);
// Returns the names of the instruction sets of the processor architecture for which this program is
// compiled: "baseline, avx2, avx512, avx512bf16 or amx".
std::string capabilities_in_words();
// Returns whether the processor has AVX512_VNNI. A processor with kAvx512 may have it or not.
bool has_avx512_vnni();

// Returns the set of kernels for an instruction set; null if this program was compiled for another
// processor architecture. kAmx uses the set for AVX512_BF16.
const Kernels* kernels_of(Capability capability);

// Returns the set of kernels for capability().
const Kernels& kernels();

}  // namespace encode::kernels
