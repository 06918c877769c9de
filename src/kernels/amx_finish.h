// Computes a matrix product on tiles block by block. While the tile unit multiplies the tiles of
// one block, the vector units turn the sums of the previous block into results. Only the sources of
// the tile kernels include this header.
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
  int64_t tile;         // number of the tile in the block, in row-major order
  int64_t column_tile;  // column of the tile in the block
  int64_t row;          // number of the row in the tile
  int64_t product_row;  // number of the row in the result
};

// Turns the sums of a block into results, a few rows of its tiles at a time.
template <Epilogue epilogue, typename Product>
class BlockFinish {
  using T = typename Product::Element;

 public:
  static constexpr int64_t kTiles = Product::kRowTiles * Product::kColumnTiles;
  static constexpr int64_t kRows = kTiles * kTileRows;  // rows of all tiles of a block

  BlockFinish(Product& product, const Linear<T>& call) : product_(product), call_(call) {}

  // From now on, finish() finishes the block at `place` with these sums. The previous block must be
  // finished, and the caller must not change `sums` until the new block is finished.
  void take(const BlockPlace& place, const typename Product::Sum* sums) {
    place_ = place;
    sums_ = sums;
    product_.take(place);
    for (int64_t tile = 0; tile < Product::kColumnTiles; ++tile)
      bias_[tile] = call_.bias ? load_lanes(call_.bias + column(tile), lanes(tile)) : Vec{};
  }

  // Finishes rows [begin, end) of the kRows rows of the block. Does nothing before the first
  // take().
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

// Computes all blocks of a matrix product. The rows of x already lie in tiles. A Product has these
// members:
//   Element, Sum                    the types of the result and of a sum
//   kExact                          see apply()
//   kRowTiles, kColumnTiles         the size of a block in tiles
//   kSums                           the number of sums of a tile
//   rows(), columns(), steps()      the size of the result, and the number of steps
//   block_bytes()                   the bytes of W for the columns of a block
//   multiply(place, sums, between)  stores the sums of a block tile by tile, calls between(step)
//   take(place)                     makes sum() refer to this block
//   sum(sums, row)                  returns sixteen results of a row without their bias
//   result_row(row)                 returns the row of the result for a row of the product
//
// The columns are processed in groups of kGroupBytes of W, which stay in the second-level cache.
// Within a group, a block of rows is multiplied with all columns before the next block of rows. Its
// results then lie on few pages. This matters because the first-level TLB has 96 entries for pages
// of 4 kB, and a virtual machine may have no larger pages.
//
// Two buffers of sums alternate: one receives the sums of the current block while the other one is
// finished. Each step of the current block finishes an equal share of the rows.
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
