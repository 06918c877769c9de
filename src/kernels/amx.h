// Matrix products on Advanced Matrix Extensions (Intel Architecture, from Sapphire Rapids): tiles
// of bfloat16 multiplied into float32 sums.
//
// A float32 operand is the sum of bfloat16 parts (Henry, Tang & Heinecke 2019, "Leveraging the
// bfloat16 artificial intelligence datatype for higher-precision computations"). Three parts hold
// all 24 bits, and the six largest of their nine products leave errors as small as those of float32
// arithmetic. Two parts hold 16 bits; their three largest products leave errors of about 2^-17 of
// each term at twice the speed.
//
// An element of the result is summed over the inner dimension in one fixed order whatever the
// number of rows, so a row's bits do not depend on its neighbours. Single-threaded.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace encode::kernels::amx {

// The processor has AMX-BF16 and the operating system lets this process use it.
bool available();

enum class Parts : int64_t { kOne = 1, kTwo = 2, kThree = 3 };  // one: bfloat16 operands
enum class Epilogue { kNone, kGelu, kGeluTanh, kRelu, kSilu };

// W [out_features, in_features] in the order that the tiles are loaded in.
struct PackedWeight {
  Parts parts;
  int64_t out_features;
  int64_t in_features;
  const BFloat16* data;  // packed_size() elements at a multiple of 64 bytes

  int64_t packed_size() const;
  // Columns of the result that are packed together, and how many such blocks there are. Matrices
  // whose out_features are whole blocks lie one behind the other when they are stacked.
  static constexpr int64_t kBlockColumns = 32;
  int64_t column_blocks() const;
};

// Fills the column blocks [begin, end) of `to` (packed_size() elements in all) from row-major
// weights: any number of threads may share the work.
struct BlockRange {
  int64_t begin;
  int64_t end;
};
void pack(const float* weight, const PackedWeight& shape, BlockRange range, BFloat16* to);
void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, BFloat16* to);

// y = epilogue(x W^T + bias) + residual, with T BFloat16 for one part and float else. Row-major
// with dense rows of in_features and out_features.
template <typename T>
struct Linear {
  const T* x;         // [rows, in_features]
  const float* bias;  // [out_features] or null
  const T* residual;  // [rows, out_features] or null
  T* y;               // [rows, out_features]; may be residual
  int64_t rows;
  Epilogue epilogue;
};

// Elements of working memory that linear() needs for a weight, whatever the number of rows.
int64_t scratch_size(const PackedWeight& weight);

// `scratch` at a multiple of 64 bytes. Sets the tile configuration of the calling thread and leaves
// it released.
void linear(const PackedWeight& weight, const Linear<float>& call, BFloat16* scratch);
void linear(const PackedWeight& weight, const Linear<BFloat16>& call, BFloat16* scratch);

}  // namespace encode::kernels::amx
