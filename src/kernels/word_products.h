// Products of small matrices of 32-bit words, for attention and for packed weights. A word is one
// float32 number, or two or four values of the inner dimension. Only the sources that are compiled
// per instruction set include this header.
//
// Blocking. A block of results is `rows` rows by `vectors` registers of columns, and all its sums
// stay in registers. For each word of the inner dimension the block loads `vectors` registers of B.
// For each of its rows it then broadcasts one word of A and adds `vectors` products.
// multiply_words() processes the inner dimension in parts of kProductDepth and keeps the sums in C
// between two parts. vector_linear.cc processes it in one part.
//
// Order of sums. Each element of C is one chain over the words of the inner dimension, in ascending
// order. The blocking does not change this order, because C keeps a partial sum without rounding
// it. So neither the position of a block nor the size of the matrices changes the bits of an
// element.
#pragma once

#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

// One register. GCC 12 does not keep several sums in registers if their type is a Vec that is wider
// than a register.
using Wide = Register<float>;

// Adds a x b to `sums`, word by word. The compiler contracts this to a fused multiply-add if the
// instruction set has one.
struct Float32Words {
  static void add(Wide& sums, Wide a, Wide b) { sums += a * b; }
};
#ifdef __AVX512BF16__
// A word is two bfloat16 numbers. Subnormal numbers count as zero (Intel SDM, VDPBF16PS).
struct BFloat16Words {
  static void add(Wide& sums, Wide a, Wide b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  }
};
#endif
#ifdef __AVX512F__
// A word is four bytes, which are unsigned in a and signed in b. The sums are 32-bit integers. The
// instruction belongs to AVX512_VNNI, which not every processor with AVX-512 has.
struct Int8Words {
  static void add(Wide& sums, Wide a, Wide b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  }
};
#endif
#if defined(__AVX2__) || defined(__ARM_NEON)
// A word is two signed 16-bit integers. The sums are 32-bit integers.
struct Int16Words {
  static void add(Wide& sums, Wide a, Wide b) {
    Register<int32_t> products;
#ifdef __ARM_NEON
    Register<int32_t> high;
    __asm__("smull %0.4s, %1.4h, %2.4h" : "=w"(products) : "w"(a), "w"(b));
    __asm__("smull2 %0.4s, %1.8h, %2.8h" : "=w"(high) : "w"(a), "w"(b));
    __asm__("addp %0.4s, %0.4s, %1.4s" : "+w"(products) : "w"(high));
#else
    __asm__("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(a), "v"(b));
#endif
    sums = reinterpret_cast<Wide>(reinterpret_cast<Register<int32_t>>(sums) + products);
  }
};
#endif

// The rows and the registers of columns of a block. With AVX-512, 16 sums, 2 registers of B and 1
// word of A use 19 of 32 registers. With AVX2, 8 + 2 + 1 registers of 16 are used, and with NEON
// 16 + 4 + 1 of 32.
#ifdef __AVX512F__
constexpr int64_t kProductRows = 8;
#else
constexpr int64_t kProductRows = 4;
#endif
#ifdef __ARM_NEON
constexpr int64_t kProductVectors = 4;
#else
constexpr int64_t kProductVectors = 2;
#endif
// The rows of B in a part of the inner dimension. The part stays in the first-level cache.
constexpr int64_t kProductDepth = 128;

// The number of words in the inner dimension, and the distances in words between the rows of A, B
// and C.
struct BlockShape {
  int64_t k;
  int64_t lda;
  int64_t ldb;
  int64_t ldc;
};

// The position of a block in A, B and C, and the columns that its last register uses. `float`
// stands for any word or any sum of 32 bits.
struct ProductBlock {
  const float* a;
  const float* b;
  float* c;
  int64_t lanes;
};

// Broadcasts a word to every lane without changing its bits.
inline Wide splat_word(const float* word) {
  return reinterpret_cast<Wide>(Register<uint32_t>{} + load_raw<uint32_t>(word));
}

// Loads or stores the first n words of a register. The other lanes of a loaded register are zero.
inline Wide load_words(const float* from, int64_t n) {
  Wide words = {};
  __builtin_memcpy(&words, from, static_cast<uint64_t>(n) * sizeof(float));
  return words;
}
inline void store_words(const Wide& words, float* to, int64_t n) {
  __builtin_memcpy(to, &words, static_cast<uint64_t>(n) * sizeof(float));
}

// Asks the processor to load the cache line of `from` into the first-level cache. The address may
// be invalid.
inline void prefetch(const float* from) { __builtin_prefetch(from, 0, 3); }

// Computes a block. If `first` is true, the sums begin at zero, otherwise at the values in C. If
// `part` is true, only the first `lanes` columns of the last register exist. If `ahead` is not 0, B
// is packed: its rows of `vectors` registers are adjacent, and each step prefetches the row that is
// `ahead` rows further. The compiler then needs no register for ldb; with twelve rows no register
// is left for it. GCC 12 keeps the sums in registers only if the loops over rows and registers are
// unrolled.
template <typename Words, int64_t rows, int64_t vectors, bool first, bool part, int64_t ahead = 0>
inline void multiply_block(const BlockShape& shape, const ProductBlock& block) {
  const BlockShape p = shape;
  const auto [a, b, c, lanes] = block;
  const auto from = [last = lanes](const float* row, int64_t v) {
    if (part && v + 1 == vectors) return load_words(row + v * kWide, last);
    return load_raw<Wide>(row + v * kWide);
  };
  const int64_t ldb = ahead > 0 ? vectors * kWide : p.ldb;
  Wide sums[rows][vectors];
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) sums[r][v] = first ? Wide{} : from(c + r * p.ldc, v);
  }
  for (int64_t k = 0; k < p.k; ++k) {
    Wide row[vectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) row[v] = from(b + k * ldb, v);
    if constexpr (ahead > 0) {
      constexpr int64_t kLineWords = 16;
#pragma GCC unroll 4
      for (int64_t w = 0; w < vectors * kWide; w += kLineWords) prefetch(b + (k + ahead) * ldb + w);
    }
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

// Computes the blocks of all rows for `vectors` registers of columns.
template <typename Words, int64_t vectors, bool first, bool part>
inline void multiply_columns(const Product& p, ProductBlock block) {
  const BlockShape shape = {.k = p.k, .lda = p.lda, .ldb = p.ldb, .ldc = p.ldc};
  for (int64_t r = 0; r < p.m; r += kProductRows) {
    multiply_block<Words, kProductRows, vectors, first, part>(shape, block);
    block.a += kProductRows * p.lda;
    block.c += kProductRows * p.ldc;
  }
}

// Computes one part of the inner dimension: `p.k` is at most kProductDepth.
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

// Computes a matrix product. The sizes in `product` are words, and m is a multiple of kProductRows.
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
