// The tile operations that all tile kernels share. Only the sources of the tile kernels include
// this header.
#pragma once

#include <immintrin.h>

#include "kernels/linear_finish.h"

namespace encode::kernels::amx {

using namespace ENCODE_ISA;

inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileRowBytes = 64;
inline constexpr int64_t kTileBytes = kTileRows * kTileRowBytes;
inline constexpr int64_t kTileSums = kTileRows * kLanes;

// load_tile() does not tell the compiler that it reads memory. So this function must be called
// after the operands are stored and before load_tile() loads them.
inline void compiler_fence() { __asm__ volatile("" ::: "memory"); }

// Measurements suggest that the two hyperthreads of a core share one pool of physical tile
// registers. Each tile that is not zero takes a register of the pool, and each tile instruction in
// flight takes another one. To leave registers for the other thread:
// - give_back() sets the tile of an operand to zero after its last use;
// - keep_apart() puts idle instructions between two tile instructions.
// Beside a thread that also uses tiles, a load and a product then take 12 ns, instead of 32 ns
// without these two measures. On a core that no other thread uses they always take 7 ns
// (docs/performance.md).

// Sets a tile to zero. A zero tile takes no register of the pool.
template <int64_t tile>
inline void give_back() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(tile));
}

// Executes eight instructions that do nothing.
inline void keep_apart() { __asm__ volatile(".rept 8\n\tnop\n\t.endr"); }

// Loads sixteen rows of 64 bytes; `row_bytes` is the distance between two rows.
template <int64_t tile>
inline void load_tile(const void* from, int64_t row_bytes = kTileRowBytes) {
  __asm__ volatile("tileloadd (%0,%1), %%tmm%c2" : : "r"(from), "r"(row_bytes), "i"(tile));
  keep_apart();
}

// The type of the elements of an operand tile.
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

// Multiplies two row tiles with two column tiles and adds the four products to tiles 0 to 3, in
// row-major order. Each of the four operand tiles is loaded once and serves two products.
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

// Sets tiles 0 to `tiles` - 1 to zero, for 2 to 4 tiles. All tile kernels keep their sums there.
template <int64_t tiles = 4>
inline void zero_sums() {
  give_back<0>();
  give_back<1>();
  if constexpr (tiles > 2) give_back<2>();
  if constexpr (tiles > 3) give_back<3>();
}

// Stores tiles 0 to `tiles` - 1 one after another in memory, for 3 or 4 tiles.
template <int64_t tiles = 4, typename Sum>
inline void store_sums(Sum* sums) {
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kTileSums, kTileRowBytes);
  _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  if constexpr (tiles > 3) _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
}

// Transposes [16 rows][16 words of 32 bits] to [16 words][16 rows]. TDPBSSD and TDPBF16PS need this
// order for W: a row of the tile holds one word, with consecutive inputs, of each of sixteen
// outputs.
template <typename T>
inline void store_transposed(const T* rows, T* to) {
  constexpr int64_t kRow = kTileRowBytes / static_cast<int64_t>(sizeof(T));
  UintVec in[kTileRows];
  for (int64_t i = 0; i < kTileRows; ++i) in[i] = load_raw<UintVec>(rows + i * kRow);
  transpose_words(in);
  for (int64_t i = 0; i < kTileRows; ++i) store_raw(in[i], to + i * kRow);
}

}  // namespace encode::kernels::amx
