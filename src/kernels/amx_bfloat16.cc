// Matrix products of bfloat16 operands on AMX tiles, with float32 sums. A step is 32 values of the
// inner dimension, because one row of a tile holds 32 values.
#include "kernels/amx.h"
#include "kernels/amx_finish.h"
#include "kernels/linear_functions.h"

namespace encode::kernels::amx::bfloat16 {
namespace {

constexpr int64_t kInner = 32;  // bfloat16 numbers in a row of a tile
constexpr int64_t kTileElements = kTileRows * kInner;
// The number of rows, and of columns, of one block of results. A block is 2 x 2 tiles.
constexpr int64_t kBlock = PackedWeight::kBlockColumns;

// Returns the bytes that one row of x takes in tiles.
int64_t row_bytes(const PackedWeight& weight) {
  return blocks(weight.in_features, kInner) * kTileRowBytes;
}

// Copies the 32 elements of one step of a row to `to`. Elements beyond the end of the row are zero.
inline void store_step(const BFloat16* row, int64_t in_features, int64_t step, BFloat16* to) {
  if ((step + 1) * kInner <= in_features)
    return store_raw(load_raw<UintVec>(row + step * kInner), to);
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

// Copies rows of x into tiles, in the order [row tile][step][16 rows][32 elements].
void lay_out_rows(const BFloat16* x, int64_t rows, int64_t in_features, BFloat16* to) {
  const int64_t steps = blocks(in_features, kInner);
  const int64_t padded = blocks(rows, kBlock) * kBlock;
  for (int64_t r = 0; r < padded; ++r) {
    // Copies of the last row fill the rest of the last block. Their results are never stored.
    const BFloat16* row = x + (r < rows ? r : rows - 1) * in_features;
    BFloat16* out = to + r / kTileRows * steps * kTileElements + r % kTileRows * kInner;
    for (int64_t step = 0; step < steps; ++step, out += kTileElements)
      store_step(row, in_features, step, out);
  }
}

// Multiplies a panel (some rows of x) with W. multiply_blocks() describes the members. Tiles 0 to 3
// hold the sums of a block, tiles 4 and 5 hold x, and tiles 6 and 7 hold W. The steps are added in
// the order of the inner dimension; TDPBF16PS defines the order within a step.
class BFloat16Product {
 public:
  using Element = BFloat16;
  using Sum = float;
  static constexpr bool kExact = false;
  static constexpr int64_t kRowTiles = 2;
  static constexpr int64_t kColumnTiles = 2;
  static constexpr int64_t kSums = kTileSums;

  // `x` is the panel in tiles. `panel` is the number of the panel's first row in the result.
  BFloat16Product(const PackedWeight& weight, const BFloat16* x, int64_t panel, int64_t rows)
      : weight_(weight),
        x_(x),
        panel_(panel),
        rows_(rows),
        steps_(blocks(weight.in_features, kInner)) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return weight_.out_features; }
  int64_t steps() const { return steps_; }
  int64_t block_bytes() const { return steps_ * 2 * kTileBytes; }
  int64_t result_row(int64_t row) const { return panel_ + row; }

  template <typename Between>
  void multiply(const BlockPlace& place, float* sums, const Between& between) const {
    const int64_t tile_row = steps_ * kTileElements;
    const BFloat16* x = x_ + place.row / kTileRows * tile_row;
    const BFloat16* bottom = x + tile_row;
    const auto* w =
        reinterpret_cast<const BFloat16*>(weight_.data) + place.column / kBlock * 2 * tile_row;
    zero_sums();
    for (int64_t step = 0; step < steps_; ++step) {
      add_four_products<TileType::kBFloat16>(x, bottom, w, w + kTileElements);
      x += kTileElements;
      bottom += kTileElements;
      w += 2 * kTileElements;
      between(step);
    }
    store_sums(sums);
  }

  void take(const BlockPlace&) {}
  Vec sum(const float* sums, const TileRow& row) const {
    return load(sums + row.tile * kSums + row.row * kLanes);
  }

 private:
  const PackedWeight& weight_;
  const BFloat16* x_;
  int64_t panel_;
  int64_t rows_;
  int64_t steps_;
};

// A product of small matrices, with the distances between the rows of each matrix in bytes.
struct SmallProduct {
  const Product& shape;
  int64_t a_bytes;
  int64_t b_bytes;
  int64_t c_bytes;
};

// Loads one row tile of A, or two row tiles if `two` is true.
template <bool two>
inline void load_a(const SmallProduct& p, const BFloat16* a) {
  load_tile<4>(a, p.a_bytes);
  if constexpr (two) load_tile<5>(a + kTileRows * p.shape.lda, p.a_bytes);
}

// Computes a block of C with one or two row tiles and two column tiles. Tiles 0 to 3 hold the sums,
// tiles 4 and 5 hold A, and tiles 6 and 7 hold B.
template <bool two>
inline void multiply_block(const SmallProduct& p, const BFloat16* a, const BFloat16* b, float* c) {
  zero_sums<two ? 4 : 2>();
  for (int64_t k = 0; k < p.shape.k; k += kInner, b += kTileRows * p.shape.ldb * 2) {
    if (p.shape.k > kInner) load_a<two>(p, a + k);
    load_tile<6>(b, p.b_bytes);
    add_product<TileType::kBFloat16, 0, 4, 6>();
    if constexpr (two) add_product<TileType::kBFloat16, 2, 5, 6>();
    give_back<6>();
    load_tile<7>(b + kInner, p.b_bytes);
    add_product<TileType::kBFloat16, 1, 4, 7>();
    if constexpr (two) add_product<TileType::kBFloat16, 3, 5, 7>();
    give_back<7>();
  }
  _tile_stored(0, c, p.c_bytes);
  _tile_stored(1, c + kLanes, p.c_bytes);
  if constexpr (two) {
    float* bottom = c + kTileRows * p.shape.ldc;
    _tile_stored(2, bottom, p.c_bytes);
    _tile_stored(3, bottom + kLanes, p.c_bytes);
  }
}

// Computes one or two row tiles of C. If the inner dimension is one step, all blocks use the same
// tiles of A, so these are loaded once.
template <bool two>
inline void multiply_rows(const SmallProduct& p, const BFloat16* a, const BFloat16* b, float* c) {
  if (p.shape.k == kInner) load_a<two>(p, a);
  for (int64_t column = 0; column < p.shape.n; column += kBlock)
    multiply_block<two>(p, a, b + 2 * column, c + column);
  give_back<4>();
  give_back<5>();
}

int64_t packed_bytes(const PackedWeight& weight) {
  return weight.column_blocks() * blocks(weight.in_features, kInner) * 2 * kTileBytes;
}

int64_t scratch_bytes(const PackedWeight& weight) {
  return panel_rows(row_bytes(weight)) * row_bytes(weight);
}

// Packs W in the order [column block][step][2 column tiles][tile]. A word of 32 bits in a tile
// holds two consecutive inputs of one output.
void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  const int64_t steps = blocks(shape.in_features, kInner);
  alignas(64) BFloat16 values[kTileElements];
  for (int64_t block = range.begin; block < range.end; ++block) {
    auto* out = reinterpret_cast<BFloat16*>(to) + block * steps * 2 * kTileElements;
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

void linear(const PackedWeight& weight, const Linear<BFloat16>& call, std::byte* scratch) {
  auto* tiled = reinterpret_cast<BFloat16*>(scratch);
  const TileSession tiles;
  const int64_t most = panel_rows(row_bytes(weight));
  for (int64_t panel = 0; panel < call.rows; panel += most) {
    const int64_t rows = call.rows - panel < most ? call.rows - panel : most;
    lay_out_rows(call.x + panel * weight.in_features, rows, weight.in_features, tiled);
    BFloat16Product product(weight, tiled, panel, rows);
    with_epilogue(call.epilogue,
                  [&]<Epilogue epilogue>() { multiply_blocks<epilogue>(product, call); });
  }
}

constexpr LinearFunctions<BFloat16> kFunctions = {
    .pack = pack, .linear = linear, .packed_bytes = packed_bytes, .scratch_bytes = scratch_bytes};

}  // namespace
}  // namespace encode::kernels::amx::bfloat16

namespace encode::kernels::amx {
namespace {

// The operand of LDTILECFG (Intel SDM, volume 2): eight tiles with 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace

const LinearFunctions<BFloat16>& bfloat16_linear() { return bfloat16::kFunctions; }

void multiply(const Product& product, const BFloat16* a, const BFloat16* b, float* c) {
  using namespace bfloat16;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(BFloat16));
  const SmallProduct p = {.shape = product,
                          .a_bytes = product.lda * kBytes,
                          .b_bytes = product.ldb * 2 * kBytes,
                          .c_bytes = product.ldc * static_cast<int64_t>(sizeof(float))};
  compiler_fence();
  int64_t row = 0;
  for (; row + kBlock <= product.m; row += kBlock)
    multiply_rows<true>(p, a + row * product.lda, b, c + row * product.ldc);
  if (row < product.m) multiply_rows<false>(p, a + row * product.lda, b, c + row * product.ldc);
}

TileSession::TileSession() {
  static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
}
TileSession::~TileSession() { _tile_release(); }

}  // namespace encode::kernels::amx
