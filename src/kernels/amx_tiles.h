// What the products on tiles share. Included by their sources alone.
#pragma once

#include <immintrin.h>

#include "kernels/amx.h"
#include "kernels/linear_finish.h"

namespace encode::kernels::amx {

using namespace ENCODE_ISA;

inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileRowBytes = 64;
inline constexpr int64_t kTileBytes = kTileRows * kTileRowBytes;
inline constexpr int64_t kTileSums = kTileRows * kLanes;

// GCC 12 does not know that loading a tile reads memory: before the first load of what was stored.
inline void compiler_fence() { __asm__ volatile("" ::: "memory"); }

// Measurements suggest that two hyperthreads of a core share the room for tiles if both use them.
// Each tile that holds numbers takes room, and each instruction under way takes room for one more.
// So an operand gives its tile back after its last use, and instructions keep apart. A load and a
// product then take 12 ns; without these two measures they take 32 ns, because all eight tiles are
// in use. On a core that no other thread uses they take 7 ns in any case (docs/performance.md).

// Zero takes no room.
template <int64_t tile>
inline void give_back() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(tile));
}

// Eight instructions that do nothing.
inline void keep_apart() { __asm__ volatile(".rept 8\n\tnop\n\t.endr"); }

template <int64_t tile>
inline void load_tile(const void* from, int64_t row_bytes = kTileRowBytes) {
  __asm__ volatile("tileloadd (%0,%1), %%tmm%c2" : : "r"(from), "r"(row_bytes), "i"(tile));
  keep_apart();
}

// What a tile of operands holds.
enum class TileType { kInt8, kBFloat16 };

// Adds the product of the tiles a and b to the tile `sum`.
template <TileType type, int64_t sum, int64_t a, int64_t b>
inline void add_product() {
  if constexpr (type == TileType::kInt8) {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(a), "i"(b));
  } else {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(a), "i"(b));
  }
  keep_apart();
}

// Two row tiles times two column tiles, added to four sums.
template <TileType type>
inline void add_four_products(const void* top, const void* bottom, const void* left,
                              const void* right) {
  load_tile<4>(top);
  load_tile<6>(left);
  add_product<type, 0, 4, 6>();
  load_tile<5>(bottom);
  add_product<type, 2, 5, 6>();
  give_back<6>();
  load_tile<7>(right);
  add_product<type, 1, 4, 7>();
  give_back<4>();
  add_product<type, 3, 5, 7>();
  give_back<5>();
  give_back<7>();
}

// The first tiles hold the sums of every product: two of them, three or four.
template <int64_t tiles = 4>
inline void zero_sums() {
  give_back<0>();
  give_back<1>();
  if constexpr (tiles > 2) give_back<2>();
  if constexpr (tiles > 3) give_back<3>();
}

// One behind the other.
template <int64_t tiles = 4, typename Sum>
inline void store_sums(Sum* sums) {
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kTileSums, kTileRowBytes);
  _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  if constexpr (tiles > 3) _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
}

// [16 rows][16 words of 32 bits] -> [16 words][16 rows]: the order in which a tile holds
// consecutive inputs of sixteen outputs.
template <typename T>
inline void store_transposed(const T* rows, T* to) {
  constexpr int64_t kRow = kTileRowBytes / static_cast<int64_t>(sizeof(T));
  UintVec in[kTileRows];
  for (int64_t i = 0; i < kTileRows; ++i) in[i] = load_raw<UintVec>(rows + i * kRow);
  transpose_words(in);
  for (int64_t i = 0; i < kTileRows; ++i) store_raw(in[i], to + i * kRow);
}

}  // namespace encode::kernels::amx
