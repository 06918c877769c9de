// The operands of the matrix products in CPU attention, and their order in memory. Only
// nn/cpu/cpu_attention.cc includes this header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef ENCODE_X86_64
#include "kernels/amx.h"
#endif
#include "nn/cpu/rows.h"

namespace encode::cpu_attention {

using kernels::BFloat16;

// The vectors of one head, one row for each token of a sequence. `stride` is the distance between
// two rows, in elements.
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

// Writes the transposed rows to `to` [rows.width, columns]. Row i becomes column i, and the columns
// after the last row become zero. `columns` must be a multiple of 16.
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

// Returns the rows as elements of type Operand: `rows` itself if T is Operand, else a converted
// copy in `room`.
template <typename Operand, typename T>
HeadRows<Operand> as_operands(const HeadRows<T>& rows, Operand* room) {
  if constexpr (std::is_same_v<T, Operand>) {
    return rows;
  } else {
    for (int64_t i = 0; i < rows.count; ++i) {
      Operand* to = room + i * rows.head_dim;
      kernels::kernels().rows<T>().widen(rows.row(i), rows.head_dim, to);
    }
    return {room, rows.head_dim, rows.count, rows.head_dim};
  }
}

// Copies the rows to `to` [padded, head_dim] and fills the rest of `to` with zeros. The rows may
// already be at `to`.
template <typename Operand>
HeadRows<Operand> pad_rows(const HeadRows<Operand>& rows, int64_t padded, Operand* to) {
  if (rows.first != to) {
    for (int64_t i = 0; i < rows.count; ++i)
      std::copy_n(rows.row(i), rows.head_dim, to + i * rows.head_dim);
  }
  std::fill(to + rows.count * rows.head_dim, to + padded * rows.head_dim, Operand{});
  return {to, rows.head_dim, padded, rows.head_dim};
}

// The operands of float32 matrix products.
struct FloatOperands {
  using Operand = float;
  struct Session {};  // An object of this class exists while matrix products run.
  // The number of queries in a matrix product is rounded up to a multiple of kQueryTile, and the
  // number of keys to a multiple of kKeyTile.
  static constexpr int64_t kQueryTile = 8;
  static constexpr int64_t kKeyTile = 16;
  // The number of rows of a right operand that are interleaved.
  static constexpr int64_t kPacked = 1;

  template <typename T>
  static void pack_values(const HeadRows<T>& rows, int64_t padded, float* to) {
    pad_rows(as_operands(rows, to), padded, to);
  }
  static float exp_scores(const float* scores, int64_t n, float scale, float* to) {
    return kernels::kernels().exp_scores(scores, n, scale, to);
  }
  // Returns the memory for the weights. Here the weights replace the scores.
  static float* weights(float* scores, float* /*room*/) { return scores; }
  static constexpr int64_t weights_room(int64_t /*size*/) { return 0; }
  static void multiply(const kernels::Product& product, const float* a, const float* b, float* c) {
    kernels::kernels().multiply(product, a, b, c);
  }
};

// The operands of bfloat16 matrix products. Two consecutive rows of a right operand are
// interleaved, as the instructions for pairs of bfloat16 need them.
struct PairedOperands {
  using Operand = BFloat16;
  static constexpr int64_t kQueryTile = 16;
  static constexpr int64_t kKeyTile = 32;
  static constexpr int64_t kPacked = 2;

  static void pack_values(const HeadRows<BFloat16>& rows, int64_t padded, BFloat16* to) {
    for (int64_t i = 0; i < rows.count; i += 2) {
      const BFloat16* odd = i + 1 < rows.count ? rows.row(i + 1) : nullptr;
      kernels::kernels().interleave(rows.row(i), odd, rows.head_dim, to + i * rows.head_dim);
    }
    const int64_t filled = rows.count + rows.count % 2;
    std::fill(to + filled * rows.head_dim, to + padded * rows.head_dim, BFloat16{});
  }
  static float exp_scores(const float* scores, int64_t n, float scale, BFloat16* to) {
    return kernels::kernels().exp_scores_bfloat16(scores, n, scale, to);
  }
  static BFloat16* weights(float* /*scores*/, BFloat16* room) { return room; }
  static constexpr int64_t weights_room(int64_t size) { return size; }
};

// Computes bfloat16 matrix products with vector instructions.
struct VectorPairs : PairedOperands {
  struct Session {};
  static bool usable() { return kernels::kernels().multiply_pairs != nullptr; }
  static void multiply(const kernels::Product& product, const BFloat16* a, const BFloat16* b,
                       float* c) {
    kernels::kernels().multiply_pairs(product, a, b, c);
  }
};

#ifdef ENCODE_X86_64
// Computes bfloat16 matrix products with AMX tiles.
struct TilePairs : PairedOperands {
  using Session = kernels::amx::TileSession;
  static bool usable() { return kernels::facts_of(kernels::capability()).has_tiles; }
  static void multiply(const kernels::Product& product, const BFloat16* a, const BFloat16* b,
                       float* c) {
    kernels::amx::multiply(product, a, b, c);
  }
};
#endif

}  // namespace encode::cpu_attention
