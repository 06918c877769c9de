// Multiplies digits on tiles, for amx_digits.cc. Only amx_digits.cc includes this header.
//
// The functions add 32-bit integers without overflow, so the order of the products does not change
// a sum. The functions compute all products of a loaded operand tile before they replace it.
//
// After the products of each step, a function calls `between` with the number of the step. The
// vector units execute this call while the tile unit still multiplies.
#pragma once

#include "kernels/amx_digit_rows.h"

namespace encode::kernels::amx::digits {

// The operands of one block of results. x has the digits of the rows of the block, and w the digits
// of its columns. x_tile and w_tile are strides in bytes: from one tile of rows, or of columns, to
// the next. `steps` is the number of tiles along the inner dimension.
//
// The functions below store the sums tile by tile, in row-major order, and the planes of each tile
// one after another.
struct BlockOperands {
  const std::byte* x;
  int64_t x_tile;
  const std::byte* w;
  int64_t w_tile;
  int64_t steps;
};

// Computes a block with one digit. The block has four tiles of results, so that no tile product
// waits for the previous one. A product of two tiles takes 52 cycles, and the unit starts one every
// 16 cycles (Intel Optimization Reference Manual, chapter on AMX).
template <typename Between>
inline void block_product_1(const BlockOperands& block, int32_t* sums, Between&& between) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  zero_sums();
  for (int64_t step = 0; step < block.steps; ++step, x += kTileBytes, w += kTileBytes) {
    add_four_products<TileType::kInt8>(x, x + block.x_tile, w, w + block.w_tile);
    between(step);
  }
  store_sums(sums);
}

// Computes a block with two digits. Tiles 0 and 1 are the planes of the left tile of results, and
// tiles 2 and 3 are the planes of the right tile of results.
template <typename Between>
inline void block_product_2(const BlockOperands& block, int32_t* sums, Between&& between) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  zero_sums();
  for (int64_t step = 0; step < block.steps; ++step, x += 2 * kTileBytes, w += 2 * kTileBytes) {
    load_tile<4>(x);
    load_tile<6>(w + kTileBytes);
    add_product<TileType::kInt8, 1, 4, 6>();
    give_back<6>();
    load_tile<7>(w + block.w_tile + kTileBytes);
    add_product<TileType::kInt8, 3, 4, 7>();
    give_back<7>();
    load_tile<6>(w);
    add_product<TileType::kInt8, 0, 4, 6>();
    load_tile<5>(x + kTileBytes);
    add_product<TileType::kInt8, 1, 5, 6>();
    give_back<6>();
    load_tile<7>(w + block.w_tile);
    add_product<TileType::kInt8, 2, 4, 7>();
    give_back<4>();
    add_product<TileType::kInt8, 3, 5, 7>();
    give_back<5>();
    give_back<7>();
    between(step);
  }
  store_sums(sums);
}

// Computes a block with three digits: one tile of results with three planes. The tiles of x then
// take 18 kB for 384 inputs. They stay in the first-level cache while they are multiplied with the
// columns of W.
template <typename Between>
inline void block_product_3(const BlockOperands& block, int32_t* sums, Between&& between) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  zero_sums<3>();
  for (int64_t step = 0; step < block.steps; ++step, x += 3 * kTileBytes, w += 3 * kTileBytes) {
    load_tile<3>(x);
    load_tile<5>(w + 2 * kTileBytes);
    add_product<TileType::kInt8, 2, 3, 5>();
    give_back<5>();
    load_tile<6>(w + kTileBytes);
    add_product<TileType::kInt8, 1, 3, 6>();
    load_tile<4>(x + kTileBytes);
    add_product<TileType::kInt8, 2, 4, 6>();
    give_back<6>();
    load_tile<5>(w);
    add_product<TileType::kInt8, 1, 4, 5>();
    give_back<4>();
    add_product<TileType::kInt8, 0, 3, 5>();
    give_back<3>();
    load_tile<4>(x + 2 * kTileBytes);
    add_product<TileType::kInt8, 2, 4, 5>();
    give_back<4>();
    give_back<5>();
    between(step);
  }
  store_sums<3>(sums);
}

// Computes a block with four digits of x and three digits of W: one tile of results with four
// planes.
template <typename Between>
inline void block_product_4(const BlockOperands& block, int32_t* sums, Between&& between) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  zero_sums();
  for (int64_t step = 0; step < block.steps; ++step, x += 4 * kTileBytes, w += 3 * kTileBytes) {
    load_tile<4>(x);
    load_tile<6>(w + 2 * kTileBytes);
    add_product<TileType::kInt8, 2, 4, 6>();
    load_tile<5>(x + kTileBytes);
    add_product<TileType::kInt8, 3, 5, 6>();
    give_back<6>();
    load_tile<6>(w + kTileBytes);
    add_product<TileType::kInt8, 1, 4, 6>();
    add_product<TileType::kInt8, 2, 5, 6>();
    load_tile<7>(w);
    add_product<TileType::kInt8, 0, 4, 7>();
    give_back<4>();
    add_product<TileType::kInt8, 1, 5, 7>();
    give_back<5>();
    load_tile<4>(x + 2 * kTileBytes);
    add_product<TileType::kInt8, 3, 4, 6>();
    give_back<6>();
    add_product<TileType::kInt8, 2, 4, 7>();
    give_back<4>();
    load_tile<5>(x + 3 * kTileBytes);
    add_product<TileType::kInt8, 3, 5, 7>();
    give_back<5>();
    give_back<7>();
    between(step);
  }
  store_sums(sums);
}

template <int64_t digits, typename Between>
inline void block_product(const BlockOperands& block, int32_t* sums, Between&& between) {
  if constexpr (digits == 1) block_product_1(block, sums, between);
  if constexpr (digits == 2) block_product_2(block, sums, between);
  if constexpr (digits == 3) block_product_3(block, sums, between);
  if constexpr (digits == 4) block_product_4(block, sums, between);
}

}  // namespace encode::kernels::amx::digits
