// Computes y = epilogue(x W^T + bias) + residual with W packed once, on tiles of Intel Advanced
// Matrix Extensions (AMX, from Sapphire Rapids) or on vector registers.
//
// Matrix products on tiles. bfloat16 operands are multiplied as they are, and their sums are
// float32. A float32 operand is converted to fixed point: each row of x and of W has one scale, and
// each element is written as signed 8-bit digits to the base 256. The products and sums of digits
// are exact in 32-bit integers (Ozaki et al. 2012, "Error-free transformations of matrix
// multiplication"; Ootomo, Ozaki & Yokota 2024, "DGEMM on integer matrix multiplication unit"). The
// place of the first digit is 0. Two digits are multiplied only if the sum of their places is less
// than the number of digits.
// - Three digits (six products) round an operand to 2^-24 of the largest element of its row. If no
//   element of a row of x is far above the others, the errors are as small as the errors of float32
//   arithmetic. Otherwise they are at most 2^-19 of the sum of |x w| over all inputs. If the
//   largest element of a row of x is above 64 times the mean magnitude of the row, the row has four
//   digits.
// - Two digits (three products) round an operand to 2^-16 of the largest element of its row.
// - One digit is int8 quantization of weights and activations, row by row.
//
// Matrix products on vector registers. An element of the result is one chain of multiply-adds in
// the order of the inner dimension. A link of the chain is:
// - a product of float32 numbers;
// - a pair of products of bfloat16 numbers (AVX512_BF16);
// - four products of 8-bit integers (AVX512_VNNI), or two (AVX2, NEON), which are quantized as on
//   tiles; these sums are exact in any order.
// Float16 numbers are stored in 16 bits and multiplied as float32 numbers. bfloat16 numbers are
// treated in the same way on a processor without AVX512_BF16.
//
// An element of the result depends only on its row of x and its row of W, and not on the number of
// rows. Each function runs on the calling thread, and any number of threads may call it. Only
// usable() and kernel_for() throw; they throw what capability() throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "encode/types.h"

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

// Returns whether this processor can run the kernel and capability() allows it. The caller must use
// the functions below only with usable kernels, and with elements of the type of the kernel. The
// functions do not check this.
bool usable(LinearKernel kernel);

// Returns the first usable kernel for a type of matrix products, or nullopt if LibTorch computes
// its products. `precision` counts only for float32.
std::optional<LinearKernel> kernel_for(ComputeType type, MatmulPrecision precision);

// The function that is applied after the bias is added and before the residual is added.
enum class Epilogue { kNone, kGelu, kGeluTanh, kRelu, kSilu };

// W [out_features, in_features] in the order in which its kernel reads it.
struct PackedWeight {
  // Up to this width a sum of products of digits fits into a signed 32-bit integer. A product of
  // two digits is at most 2^14, and each input adds at most three products to the sum of one place.
  static constexpr int64_t kMaxInFeatures = ((int64_t{1} << 31) - 1) / (3 << 14);

  LinearKernel kernel;
  int64_t out_features;
  int64_t in_features;    // at most kMaxInFeatures
  const std::byte* data;  // packed_bytes() bytes, aligned to 64 bytes; owned by the caller

  int64_t packed_bytes() const;
  // The number of columns of the result that are packed together. Packed matrices can be stacked in
  // memory if the out_features of each matrix, except the last, are a multiple of kBlockColumns.
  static constexpr int64_t kBlockColumns = 32;
  int64_t column_blocks() const;  // blocks of kBlockColumns columns; the last may have fewer
};

struct BlockRange {
  int64_t begin;
  int64_t end;  // the block after the last one
};
// Packs a range of column blocks of row-major weights into `to`, which has packed_bytes() bytes.
// Several threads may pack different blocks at the same time. The elements are BFloat16 or Float16
// for the kernels with this type in their name, and float for the others.
void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to);
void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, std::byte* to);
void pack(const Float16* weight, const PackedWeight& shape, BlockRange range, std::byte* to);

// The arguments of linear(). T is BFloat16 or Float16 for the kernels with this type in their name,
// and float for the others. The matrices are row-major and dense. If a row of x has an element that
// is not finite, the sums of this row are not finite.
template <typename T>
struct Linear {
  const T* x;         // [rows, in_features]
  const float* bias;  // [out_features] or null
  const T* residual;  // [rows, out_features] or null
  T* y;               // [rows, out_features]; may be the same as residual
  int64_t rows;
  Epilogue epilogue;
};

// Returns the bytes of working memory that linear() needs for a weight, for any number of rows.
int64_t scratch_bytes(const PackedWeight& weight);

// Computes the matrix product. `scratch` has scratch_bytes() bytes, aligned to 64 bytes. A kernel
// on tiles makes its own amx::TileSession, so the caller must not have one.
void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch);
void linear(const PackedWeight& weight, const Linear<BFloat16>& call, std::byte* scratch);
void linear(const PackedWeight& weight, const Linear<Float16>& call, std::byte* scratch);

}  // namespace encode::kernels
