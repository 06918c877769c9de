// y = epilogue(x W^T + bias) + residual with W packed once, on Advanced Matrix Extensions (Intel
// Architecture, from Sapphire Rapids) or on vector registers.
//
// Tiles. bfloat16 operands are multiplied as they are, into float32 sums. A float32 operand becomes
// digits of a fixed-point number: a row of x, and a row of W, is its largest magnitude times signed
// digits to the base 256, eight bits each, so that 8-bit integers are multiplied and their sums are
// exact (Ozaki et al. 2012, "Error-free transformations of matrix multiplication"; Ootomo,
// Ozaki & Yokota 2024, "DGEMM on integer matrix multiplication unit"). A product of two digits
// is computed only if their places add up to less than the number of digits.
//   Three digits (six products) round an operand to 2^-24 of its row's largest element. If no
//   element of x is far above the others, the errors are as small as the errors of float32
//   arithmetic, else up to 2^-19 of the sum of the terms' magnitudes. A row of x whose largest
//   element is above 64 times the mean of its magnitudes takes four digits.
//   Two digits (three products) round an operand to 2^-16 of its row's largest element.
//   One digit is int8 quantization of weights and activations, row by row.
//
// Vector registers. An element is one chain of multiply-adds in the order of the inner dimension:
// of float32 numbers, of pairs of bfloat16 numbers (AVX512_BF16), or of four 8-bit integers
// (AVX512_VNNI), quantized as on tiles. Float16 numbers, and bfloat16 numbers without AVX512_BF16,
// are stored in 16 bits and multiplied as the float32 numbers that they are.
//
// An element of the result depends on its row of x and its row of W alone, not on how many there
// are. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace encode::kernels {

enum class LinearKernel {
  kBFloat16Tiles,
  kOneDigitTiles,
  kTwoDigitTiles,
  kThreeDigitTiles,
  kFloat32Vectors,
  kBFloat16Vectors,
  kFloat16Vectors,
  kInt8Vectors,
};

// Whether this processor has what the kernel takes, and may use it (capability()). Everything below
// is for usable kernels alone, with elements of the kernel's type: nothing checks it.
bool usable(LinearKernel kernel);

// After the bias, before the residual.
enum class Epilogue { kNone, kGelu, kGeluTanh, kRelu, kSilu };

// W [out_features, in_features] in the order that its kernel reads it in.
struct PackedWeight {
  // Sums of digits' products, three a place, fit into 32 bits.
  static constexpr int64_t kMaxInFeatures = ((int64_t{1} << 31) - 1) / (3 << 14);

  LinearKernel kernel;
  int64_t out_features;
  int64_t in_features;    // at most kMaxInFeatures
  const std::byte* data;  // packed_bytes() at a multiple of 64

  int64_t packed_bytes() const;
  // Columns of the result that are packed together, and how many such blocks there are. Matrices
  // whose out_features are whole blocks lie one behind the other when they are stacked.
  static constexpr int64_t kBlockColumns = 32;
  int64_t column_blocks() const;
};

// Fills the column blocks [begin, end) of `to` (packed_bytes() in all) from row-major weights: any
// number of threads may share the work. The weights are BFloat16 or Float16 for the kernels named
// so and float for the others.
struct BlockRange {
  int64_t begin;
  int64_t end;
};
void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to);
void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, std::byte* to);
void pack(const Float16* weight, const PackedWeight& shape, BlockRange range, std::byte* to);

// T is BFloat16 or Float16 for the kernels named so and float for the others. Row-major with dense
// rows of in_features and out_features. A row of x that is not finite gives sums that are not.
template <typename T>
struct Linear {
  const T* x;         // [rows, in_features]
  const float* bias;  // [out_features] or null
  const T* residual;  // [rows, out_features] or null
  T* y;               // [rows, out_features]; may be residual
  int64_t rows;
  Epilogue epilogue;
};

// Working memory that linear() needs for a weight, whatever the number of rows.
int64_t scratch_bytes(const PackedWeight& weight);

// `scratch` at a multiple of 64. On tiles it has a TileSession of its own.
void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch);
void linear(const PackedWeight& weight, const Linear<BFloat16>& call, std::byte* scratch);
void linear(const PackedWeight& weight, const Linear<Float16>& call, std::byte* scratch);

}  // namespace encode::kernels
