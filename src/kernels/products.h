// Small products of float32 matrices, as attention has them. Included by row_kernels.cc alone.
#pragma once

#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

// Rows and vectors of columns of a block of results, which stays in registers while it is summed.
#ifdef __AVX512F__
constexpr int64_t kProductRows = 8;
constexpr int64_t kProductVectors = 2;
#elif defined(__AVX2__)
constexpr int64_t kProductRows = 4;
constexpr int64_t kProductVectors = 1;
#else
constexpr int64_t kProductRows = 2;
constexpr int64_t kProductVectors = 1;
#endif
// Rows of B that are multiplied before the next ones are looked at: they stay in the first cache.
constexpr int64_t kProductDepth = 128;

// Rows of A and C that a block takes, and the columns of its last vector.
struct ProductBlock {
  const float* a;
  const float* b;
  float* c;
  int64_t lanes;
};

// `first`: nothing has been added to C yet. `part`: the last vector is not a whole one. The loops
// over rows and vectors must be unrolled for the sums to stay in registers.
template <int64_t vectors, bool first, bool part>
inline void multiply_block(const Product& product, const ProductBlock& block) {
  const Product p = product;
  const auto [a, b, c, lanes] = block;
  const auto from = [lanes](const float* row, int64_t v) {
    if (part && v + 1 == vectors) return load_part(row + v * kLanes, lanes);
    return load(row + v * kLanes);
  };
  Vec sums[kProductRows][vectors];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kProductRows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) sums[r][v] = first ? Vec{} : from(c + r * p.ldc, v);
  }
  for (int64_t k = 0; k < p.k; ++k) {
    Vec row[vectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) row[v] = from(b + k * p.ldb, v);
#pragma GCC unroll 16
    for (int64_t r = 0; r < kProductRows; ++r) {
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v) sums[r][v] += a[r * p.lda + k] * row[v];
    }
  }
#pragma GCC unroll 16
  for (int64_t r = 0; r < kProductRows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      float* to = c + r * p.ldc + v * kLanes;
      if (part && v + 1 == vectors) {
        store_part(sums[r][v], to, lanes);
      } else {
        store(sums[r][v], to);
      }
    }
  }
}

template <int64_t vectors, bool first, bool part>
inline void multiply_columns(const Product& p, ProductBlock block) {
  for (int64_t r = 0; r < p.m; r += kProductRows) {
    multiply_block<vectors, first, part>(p, block);
    block.a += kProductRows * p.lda;
    block.c += kProductRows * p.ldc;
  }
}

// `p` is a product of kProductDepth rows of B at most.
template <bool first>
inline void multiply_depth(const Product& p, const float* a, const float* b, float* c) {
  constexpr int64_t kColumns = kProductVectors * kLanes;
  int64_t n = 0;
  for (; n + kColumns <= p.n; n += kColumns)
    multiply_columns<kProductVectors, first, false>(p, {a, b + n, c + n, kLanes});
  for (; n + kLanes <= p.n; n += kLanes)
    multiply_columns<1, first, false>(p, {a, b + n, c + n, kLanes});
  if (n < p.n) multiply_columns<1, first, true>(p, {a, b + n, c + n, p.n - n});
}

inline void multiply(const Product& product, const float* a, const float* b, float* c) {
  Product p = product;
  for (int64_t k = 0; k < product.k; k += kProductDepth) {
    p.k = product.k - k < kProductDepth ? product.k - k : kProductDepth;
    if (k == 0) {
      multiply_depth<true>(p, a, b, c);
    } else {
      multiply_depth<false>(p, a + k, b + k * p.ldb, c);
    }
  }
}

}  // namespace encode::kernels::ENCODE_ISA
