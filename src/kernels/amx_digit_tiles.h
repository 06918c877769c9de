// The sums of amx_digits.cc: products of digits on tiles. Included by it alone.
//
// `between` is called once a step: what it does runs beside the step's products, on the units that
// tiles leave idle.
#pragma once

#include "kernels/amx_digit_rows.h"

namespace encode::kernels::amx::digits {

// The sums of one block of results, a tile's planes one after the other, tiles by rows.
// x: the digits of its rows, `x_tile` from one row tile to the next; w and `w_tile` likewise.
struct BlockOperands {
  const std::byte* x;
  int64_t x_tile;
  const std::byte* w;
  int64_t w_tile;
  int64_t steps;
};

// Four tiles of results at once: enough for no product to wait for the one before it.
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

// One tile of results: 18 kB of x (of 384 inputs) then stay in the first cache while the columns go
// by.
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

// Four digits of x against three of W.
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
