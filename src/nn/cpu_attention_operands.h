// What the products of CPU attention multiply, and in which order it lies. Included by
// cpu_attention.cc alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ATen/native/CPUBlas.h>

#include "nn/cpu_rows.h"

namespace encode::cpu_attention {

using kernels::BFloat16;

// Rows of one head of a packed projection.
template <typename T>
struct HeadRows {
  const T* first;
  int64_t stride;
  int64_t count;
  int64_t head_dim;

  static HeadRows of(const at::Tensor& packed, int64_t head, int64_t begin, int64_t end) {
    return {rows_of<const T>(packed) + begin * packed.stride(0) + head * packed.stride(1),
            packed.stride(0), end - begin, packed.size(2)};
  }
  const T* row(int64_t i) const { return first + i * stride; }
};

// A row-major operand.
template <typename T>
struct Matrix {
  const T* data;
  int64_t stride;
};

// to [rows.width, columns]: the rows side by side, zero beyond the last.
inline void transpose(kernels::WordRows rows, int64_t columns, void* to) {
  constexpr int64_t kRows = 16;
  kernels::WordRows some = rows;
  for (int64_t column = 0; column < columns; column += kRows) {
    some.count = std::min(rows.count, kRows);
    kernels::kernels().transpose(some, columns, static_cast<uint32_t*>(to) + column);
    some.first += some.count * some.stride;
    rows.count -= some.count;
  }
}

template <typename T>
kernels::WordRows words_of(const HeadRows<T>& rows) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  return {.first = reinterpret_cast<const std::byte*>(rows.first),
          .stride = rows.stride * kBytes,
          .count = rows.count,
          .width = rows.head_dim * kBytes / static_cast<int64_t>(sizeof(uint32_t))};
}

// Rows in T as operands of float32 products. `room` holds at least as many numbers as the result.
template <typename T>
struct FloatOperands {
  using Operand = float;
  static constexpr bool kKeepsFloats = std::is_same_v<T, float>;

  static Matrix<float> queries(const HeadRows<T>& rows, int64_t padded, float* room) {
    if constexpr (kKeepsFloats) {
      if (rows.count == padded) return {rows.first, rows.stride};
    }
    copy(rows, padded, room);
    return {room, rows.head_dim};
  }
  static void pack_keys(const HeadRows<T>& rows, int64_t columns, float* to, float* room) {
    kernels::WordRows words = {};
    if constexpr (kKeepsFloats) {
      words = words_of(rows);
    } else {
      copy(rows, rows.count, room);
      words = {.first = reinterpret_cast<const std::byte*>(room),
               .stride = rows.head_dim * static_cast<int64_t>(sizeof(float)),
               .count = rows.count,
               .width = rows.head_dim};
    }
    transpose(words, columns, to);
  }
  static void pack_values(const HeadRows<T>& rows, int64_t padded, float* to, float* /*room*/) {
    copy(rows, padded, to);
  }
  static float exp_scores(const float* scores, int64_t n, float scale, float* to) {
    return kernels::kernels().exp_scores(scores, n, scale, to);
  }
  // The weights of scores take their place.
  static float* weights(float* scores, float* /*room*/) { return scores; }
  static constexpr int64_t weights_room(int64_t /*size*/) { return 0; }
  static constexpr int64_t kPacked = 1;  // rows of the inner dimension side by side
  struct Release {};                     // held while products run

 private:
  static void copy(const HeadRows<T>& rows, int64_t padded, float* to) {
    for (int64_t i = 0; i < rows.count; ++i)
      kernels::kernels().rows<T>().widen(rows.row(i), rows.head_dim, to + i * rows.head_dim);
    std::fill(to + rows.count * rows.head_dim, to + padded * rows.head_dim, 0.0F);
  }
};

// The library keeps the tiles of its last bfloat16 product configured and remembers that it did;
// our own products configure them anew, so it must forget.
struct TileRelease {
  ~TileRelease() { at::native::cpublas::brgemm_release(true); }
};

// Rows in T as bfloat16 operands, two consecutive values of the inner dimension side by side
// (VNNI), which is what AMX multiplies. `room` as above.
template <typename T>
struct PairedOperands {
  using Operand = BFloat16;
  using Release = TileRelease;
  static constexpr int64_t kPacked = 2;

  static Matrix<BFloat16> queries(const HeadRows<T>& rows, int64_t padded, BFloat16* room) {
    const HeadRows<BFloat16> rounded = round(rows, room);
    if (rounded.count == padded) return {rounded.first, rounded.stride};
    if (rounded.first != room) {
      for (int64_t i = 0; i < rounded.count; ++i)
        std::copy_n(rounded.row(i), rounded.head_dim, room + i * rounded.head_dim);
    }
    fill_rows(room, rounded, padded);
    return {room, rounded.head_dim};
  }
  static void pack_keys(const HeadRows<T>& rows, int64_t columns, BFloat16* to, BFloat16* room) {
    transpose(words_of(round(rows, room)), columns, to);
  }
  static void pack_values(const HeadRows<T>& rows, int64_t padded, BFloat16* to, BFloat16* room) {
    HeadRows<BFloat16> rounded = round(rows, room);
    for (int64_t i = 0; i < rounded.count; i += 2) {
      const BFloat16* odd = i + 1 < rounded.count ? rounded.row(i + 1) : nullptr;
      kernels::kernels().interleave(rounded.row(i), odd, rounded.head_dim,
                                    to + i * rounded.head_dim);
    }
    rounded.count += rounded.count % 2;
    fill_rows(to, rounded, padded);
  }
  static float exp_scores(const float* scores, int64_t n, float scale, BFloat16* to) {
    return kernels::kernels().exp_scores_bfloat16(scores, n, scale, to);
  }
  static BFloat16* weights(float* /*scores*/, BFloat16* room) { return room; }
  static constexpr int64_t weights_room(int64_t size) { return size; }

 private:
  static HeadRows<BFloat16> round(const HeadRows<T>& rows, BFloat16* room) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      return rows;
    } else {
      for (int64_t i = 0; i < rows.count; ++i) {
        kernels::kernels().bfloat16.scale(rows.row(i), rows.head_dim, 1, room + i * rows.head_dim);
      }
      return {room, rows.head_dim, rows.count, rows.head_dim};
    }
  }
  // Zeros from the last row on.
  static void fill_rows(BFloat16* to, const HeadRows<BFloat16>& rows, int64_t padded) {
    std::fill(to + rows.count * rows.head_dim, to + padded * rows.head_dim, BFloat16{});
  }
};

// C [m, n] = A [m, k] x B [k, n], added to what C holds where `add` says so.
struct Product {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t lda;
  int64_t ldb;
  int64_t ldc;
  bool add;
};

inline void multiply(const Product& p, const float* a, const float* b, float* c) {
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.add, a, b, c, false);
}

// B in pairs of rows.
inline void multiply(const Product& p, const BFloat16* a, const BFloat16* b, float* c) {
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.add,
                              reinterpret_cast<const at::BFloat16*>(a),
                              reinterpret_cast<const at::BFloat16*>(b), c, true);
}

}  // namespace encode::cpu_attention
