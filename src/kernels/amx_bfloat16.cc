#include "kernels/amx_bfloat16.h"

#include "kernels/amx_tiles.h"

namespace encode::kernels::amx::bfloat16 {
namespace {

constexpr int64_t kInner = 32;  // numbers in a row of a tile
constexpr int64_t kTileElements = kTileRows * kInner;
// Rows and columns of one block of results: 2 x 2 tiles.
constexpr int64_t kBlock = PackedWeight::kBlockColumns;

// Thirty-two consecutive elements of a row, zero beyond its end.
inline void store_step(const BFloat16* row, int64_t in_features, int64_t step, BFloat16* to) {
  for (int64_t half = 0; half < kInner; half += kLanes) {
    const int64_t at = step * kInner + half;
    const int64_t left = in_features - at;
    ShortVec x = {};
    if (left >= kLanes) {
      x = load_raw<ShortVec>(row + at);
    } else if (left > 0) {
      __builtin_memcpy(&x, row + at, static_cast<uint64_t>(left) * sizeof(BFloat16));
    }
    store_raw(x, to + half);
  }
}

// Rows of x in tile order: [row tile][inner step][16][32].
void lay_out_rows(const BFloat16* x, int64_t rows, int64_t in_features, BFloat16* to) {
  const int64_t steps = blocks(in_features, kInner);
  const int64_t padded = blocks(rows, kBlock) * kBlock;
  for (int64_t r = 0; r < padded; ++r) {
    // A row beyond the last repeats it: its results are thrown away.
    const BFloat16* row = x + (r < rows ? r : rows - 1) * in_features;
    BFloat16* out = to + r / kTileRows * steps * kTileElements + r % kTileRows * kInner;
    for (int64_t step = 0; step < steps; ++step, out += kTileElements)
      store_step(row, in_features, step, out);
  }
}

// Tiles 4 and 5 hold two row tiles of x, 6 and 7 two column tiles of W.
// sums [32, 32] = x block x W block.
inline void block_product(const BFloat16* x, const BFloat16* w, int64_t steps, float* sums) {
  zero_sums();
  const BFloat16* bottom = x + steps * kTileElements;
  for (int64_t step = 0; step < steps; ++step) {
    _tile_loadd(4, x, kTileRowBytes);
    _tile_loadd(5, bottom, kTileRowBytes);
    _tile_loadd(6, w, kTileRowBytes);
    _tile_loadd(7, w + kTileElements, kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    x += kTileElements;
    bottom += kTileElements;
    w += 2 * kTileElements;
  }
  constexpr int kStride = kBlock * sizeof(float);
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kTileRows, kStride);
  _tile_stored(2, sums + kTileRows * kBlock, kStride);
  _tile_stored(3, sums + kTileRows * kBlock + kTileRows, kStride);
}

using Finish = void (*)(const float* sums, const PackedWeight&, const Linear<BFloat16>&,
                        int64_t row, int64_t column);

template <Epilogue epilogue>
void finish_block(const float* sums, const PackedWeight& weight, const Linear<BFloat16>& call,
                  int64_t row, int64_t column) {
  const int64_t rows = call.rows - row < kBlock ? call.rows - row : kBlock;
  for (int64_t half = 0; half < kBlock; half += kLanes) {
    const int64_t at = column + half;
    const int64_t lanes = weight.out_features - at;
    if (lanes <= 0) break;
    const Vec bias = call.bias ? load_lanes(call.bias + at, lanes) : Vec{};
    for (int64_t r = 0; r < rows; ++r) {
      finish_lanes<epilogue>(load(sums + r * kBlock + half) + bias, call,
                             (row + r) * weight.out_features + at, lanes);
    }
  }
}

}  // namespace

int64_t packed_bytes(const PackedWeight& weight) {
  return weight.column_blocks() * blocks(weight.in_features, kInner) * 2 * kTileBytes;
}

int64_t scratch_bytes(const PackedWeight& weight) {
  return kPanelRows / kTileRows * blocks(weight.in_features, kInner) * kTileBytes;
}

// [column block][inner step][2 column tiles][tile]; a word is two consecutive inputs of an output.
void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, BFloat16* to) {
  const int64_t steps = blocks(shape.in_features, kInner);
  alignas(64) BFloat16 values[kTileElements];
  for (int64_t block = range.begin; block < range.end; ++block) {
    BFloat16* out = to + block * steps * 2 * kTileElements;
    for (int64_t step = 0; step < steps; ++step) {
      for (int64_t tile = 0; tile < 2; ++tile, out += kTileElements) {
        for (int64_t i = 0; i < kTileRows; ++i) {
          const int64_t n = block * kBlock + tile * kTileRows + i;
          const bool inside = n < shape.out_features;
          store_step(weight + (inside ? n : 0) * shape.in_features, inside ? shape.in_features : 0,
                     step, values + i * kInner);
        }
        store_transposed(values, out);
      }
    }
  }
}

void linear(const PackedWeight& weight, const Linear<BFloat16>& call, BFloat16* scratch) {
  const TileScope tiles;
  const auto finish = with_epilogue(
      call.epilogue, []<Epilogue epilogue>() -> Finish { return finish_block<epilogue>; });
  const auto* packed = reinterpret_cast<const BFloat16*>(weight.data);
  const int64_t steps = blocks(weight.in_features, kInner);
  const int64_t tile_row = steps * kTileElements;
  alignas(64) float sums[2][kBlock * kBlock];
  for (int64_t panel = 0; panel < call.rows; panel += kPanelRows) {
    const int64_t rows = call.rows - panel < kPanelRows ? call.rows - panel : kPanelRows;
    lay_out_rows(call.x + panel * weight.in_features, rows, weight.in_features, scratch);
    // A block is finished while the tiles of the next one are multiplied.
    struct {
      const float* sums = nullptr;
      int64_t row = 0, column = 0;
    } previous;
    int64_t turn = 0;
    for (int64_t n = 0; n < weight.out_features; n += kBlock) {
      const BFloat16* w = packed + n / kBlock * 2 * tile_row;
      for (int64_t m = 0; m < rows; m += kBlock, turn ^= 1) {
        block_product(scratch + m / kTileRows * tile_row, w, steps, sums[turn]);
        if (previous.sums) finish(previous.sums, weight, call, previous.row, previous.column);
        previous = {sums[turn], panel + m, n};
      }
    }
    if (previous.sums) finish(previous.sums, weight, call, previous.row, previous.column);
  }
}

}  // namespace encode::kernels::amx::bfloat16
