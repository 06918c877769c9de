// The blocks of a product one after the other: while the tiles of one are multiplied, the sums of
// the one before become results. Included by their sources alone.
#pragma once

#include "kernels/amx_tiles.h"

namespace encode::kernels::amx {

// The first row and column of a block.
struct BlockPlace {
  int64_t row;
  int64_t column;
};

// One row of one tile of a block.
struct TileRow {
  int64_t tile;         // of all tiles of the block, by rows
  int64_t column_tile;  // of them
  int64_t row;          // of the tile
  int64_t product_row;
};

// Makes results of the sums of a block, some rows of its tiles at a time.
template <Epilogue epilogue, typename Product>
class BlockFinish {
  using T = typename Product::Element;

 public:
  static constexpr int64_t kTiles = Product::kRowTiles * Product::kColumnTiles;
  static constexpr int64_t kRows = kTiles * kTileRows;  // of all tiles

  BlockFinish(Product& product, const Linear<T>& call) : product_(product), call_(call) {}

  // The block before must be finished. `sums` must not change until this block is finished.
  void take(const BlockPlace& place, const typename Product::Sum* sums) {
    place_ = place;
    sums_ = sums;
    product_.take(place);
    for (int64_t tile = 0; tile < Product::kColumnTiles; ++tile)
      bias_[tile] = call_.bias ? load_lanes(call_.bias + column(tile), lanes(tile)) : Vec{};
  }

  // Rows [begin, end) of kRows; none before the first take().
  void finish(int64_t begin, int64_t end) const {
    if (sums_ == nullptr) return;
    for (int64_t tile = 0; tile < kTiles; ++tile) {
      const int64_t first = tile * kTileRows;
      finish_tile(tile, begin > first ? begin - first : 0,
                  end < first + kTileRows ? end - first : kTileRows);
    }
  }

 private:
  int64_t column(int64_t tile) const { return place_.column + tile * kLanes; }
  int64_t lanes(int64_t tile) const { return product_.columns() - column(tile); }

  void finish_tile(int64_t tile, int64_t begin, int64_t end) const {
    const int64_t column_tile = tile % Product::kColumnTiles;
    const int64_t first = place_.row + tile / Product::kColumnTiles * kTileRows;
    const int64_t left = product_.rows() - first;
    const int64_t lanes_of_tile = lanes(column_tile);
    if (end > left) end = left;
    if (begin >= end || lanes_of_tile <= 0) return;
    const Vec bias = bias_[column_tile];
    const auto finish_row = [&](int64_t r, int64_t lanes_of_row) {
      const Vec sums = product_.sum(sums_, {tile, column_tile, r, first + r});
      finish_lanes<epilogue, Product::kExact>(
          sums + bias, call_,
          product_.result_row(first + r) * product_.columns() + column(column_tile), lanes_of_row);
    };
    if (lanes_of_tile >= kLanes) {
      for (int64_t r = begin; r < end; ++r) finish_row(r, kLanes);
    } else {
      for (int64_t r = begin; r < end; ++r) finish_row(r, lanes_of_tile);
    }
  }

  Product& product_;
  const Linear<T>& call_;
  BlockPlace place_ = {};
  const typename Product::Sum* sums_ = nullptr;
  Vec bias_[Product::kColumnTiles] = {};
};

// All blocks of a product whose rows of x lie in tiles. A Product has
//   Element, Sum                    types of the result and of a sum
//   kExact                          see apply()
//   kRowTiles, kColumnTiles         of a block
//   kSums                           sums of a tile
//   rows(), columns(), steps()
//   block_bytes()                   of W for the columns of a block
//   multiply(place, sums, between)  the sums of a block, tile by tile; calls between(step)
//   take(place)                     sum() is then about this block
//   sum(sums, row)                  sixteen results of a row without their bias
//   result_row(row)                 the row of the result that a row becomes
//
// A block of rows takes the columns one after the other, so that its results lie on few pages: the
// first-level TLB holds 96 of 4 kB, and a virtual machine may have no larger ones.
template <Epilogue epilogue, typename Product>
void multiply_blocks(Product& product, const Linear<typename Product::Element>& call) {
  using Finish = BlockFinish<epilogue, Product>;
  compiler_fence();
  alignas(64) typename Product::Sum sums[2][Finish::kTiles * Product::kSums];
  const int64_t share = blocks(Finish::kRows, product.steps());
  Finish previous(product, call);
  int64_t turn = 0;
  const auto run_block = [&](const BlockPlace& place) {
    product.multiply(place, sums[turn],
                     [&](int64_t step) { previous.finish(step * share, (step + 1) * share); });
    previous.take(place, sums[turn]);
    turn ^= 1;
  };
  constexpr int64_t kBlockRows = kTileRows * Product::kRowTiles;
  constexpr int64_t kBlockColumns = kLanes * Product::kColumnTiles;
  const int64_t group = blocks(kGroupBytes, product.block_bytes()) * kBlockColumns;
  for (int64_t first = 0; first < product.columns(); first += group) {
    const int64_t end = first + group < product.columns() ? first + group : product.columns();
    for (int64_t m = 0; m < product.rows(); m += kBlockRows) {
      for (int64_t n = first; n < end; n += kBlockColumns) run_block({m, n});
    }
  }
  previous.finish(0, Finish::kRows);
}

}  // namespace encode::kernels::amx
