// Products of small matrices of 32-bit words, as attention and packed weights have them: a word is
// a float32 number or consecutive values of the inner dimension. Included by the
// per-instruction-set sources alone.
#pragma once

#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

// Sums of Vec, several of them, would not stay in registers.
using Wide = Register<float>;

// sums += a x b, word by word.
struct Float32Words {
  static void add(Wide& sums, Wide a, Wide b) { sums += a * b; }
};
#ifdef __AVX512BF16__
// A word is two bfloat16 numbers; subnormal numbers count as zero.
struct BFloat16Words {
  static void add(Wide& sums, Wide a, Wide b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  }
};
#endif
#ifdef __AVX512F__
// A word is four bytes, without a sign in a and with a sign in b; sums are 32-bit integers. This is
// AVX512_VNNI, which not every processor with AVX-512 has.
struct Int8Words {
  static void add(Wide& sums, Wide a, Wide b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  }
};
#endif

// Rows and registers of columns of a block of results, which stays in registers while it is summed.
#ifdef __AVX512F__
constexpr int64_t kProductRows = 8;
#else
constexpr int64_t kProductRows = 4;
#endif
constexpr int64_t kProductVectors = 2;
// Rows of B that are multiplied before the next ones are looked at: they stay in the first cache.
constexpr int64_t kProductDepth = 128;

// Words of a row of A, and the distances between rows.
struct BlockShape {
  int64_t k;
  int64_t lda;
  int64_t ldb;
  int64_t ldc;
};

// Rows of A and C that a block takes, and the columns of its last register. A and B are words, C is
// sums, whatever they are stored as.
struct ProductBlock {
  const float* a;
  const float* b;
  float* c;
  int64_t lanes;
};

// The word in every lane, its bits as they are.
inline Wide splat_word(const float* word) {
  return reinterpret_cast<Wide>(Register<uint32_t>{} + load_raw<uint32_t>(word));
}

// The first n words.
inline Wide load_words(const float* from, int64_t n) {
  Wide words = {};
  __builtin_memcpy(&words, from, static_cast<uint64_t>(n) * sizeof(float));
  return words;
}
inline void store_words(const Wide& words, float* to, int64_t n) {
  __builtin_memcpy(to, &words, static_cast<uint64_t>(n) * sizeof(float));
}

// `first`: nothing has been added to C yet. `part`: the last register is not a whole one. The loops
// over rows and registers must be unrolled for the sums to stay there.
template <typename Words, int64_t rows, int64_t vectors, bool first, bool part>
inline void multiply_block(const BlockShape& shape, const ProductBlock& block) {
  const BlockShape p = shape;
  const auto [a, b, c, lanes] = block;
  const auto from = [lanes](const float* row, int64_t v) {
    if (part && v + 1 == vectors) return load_words(row + v * kWide, lanes);
    return load_raw<Wide>(row + v * kWide);
  };
  Wide sums[rows][vectors];
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) sums[r][v] = first ? Wide{} : from(c + r * p.ldc, v);
  }
  for (int64_t k = 0; k < p.k; ++k) {
    Wide row[vectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) row[v] = from(b + k * p.ldb, v);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) {
      const Wide word = splat_word(a + r * p.lda + k);
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v) Words::add(sums[r][v], word, row[v]);
    }
  }
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      float* to = c + r * p.ldc + v * kWide;
      if (part && v + 1 == vectors) {
        store_words(sums[r][v], to, lanes);
      } else {
        store_raw(sums[r][v], to);
      }
    }
  }
}

template <typename Words, int64_t vectors, bool first, bool part>
inline void multiply_columns(const Product& p, ProductBlock block) {
  const BlockShape shape = {.k = p.k, .lda = p.lda, .ldb = p.ldb, .ldc = p.ldc};
  for (int64_t r = 0; r < p.m; r += kProductRows) {
    multiply_block<Words, kProductRows, vectors, first, part>(shape, block);
    block.a += kProductRows * p.lda;
    block.c += kProductRows * p.ldc;
  }
}

// `p` is a product of kProductDepth rows of B at most.
template <typename Words, bool first>
inline void multiply_depth(const Product& p, const float* a, const float* b, float* c) {
  constexpr int64_t kColumns = kProductVectors * kWide;
  int64_t n = 0;
  for (; n + kColumns <= p.n; n += kColumns)
    multiply_columns<Words, kProductVectors, first, false>(p, {a, b + n, c + n, kWide});
  for (; n + kWide <= p.n; n += kWide)
    multiply_columns<Words, 1, first, false>(p, {a, b + n, c + n, kWide});
  if (n < p.n) multiply_columns<Words, 1, first, true>(p, {a, b + n, c + n, p.n - n});
}

// `product` in words.
template <typename Words>
inline void multiply_words(const Product& product, const float* a, const float* b, float* c) {
  Product p = product;
  for (int64_t k = 0; k < product.k; k += kProductDepth) {
    p.k = product.k - k < kProductDepth ? product.k - k : kProductDepth;
    if (k == 0) {
      multiply_depth<Words, true>(p, a, b, c);
    } else {
      multiply_depth<Words, false>(p, a + k, b + k * p.ldb, c);
    }
  }
}

}  // namespace encode::kernels::ENCODE_ISA
