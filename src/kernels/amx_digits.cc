#include "kernels/amx_digits.h"

#include "kernels/amx_digit_tiles.h"

namespace encode::kernels::amx::digits {
namespace {

inline Vec sums_of(IntVec x) { return __builtin_convertvector(x, Vec); }

// Sixteen elements of a row from the planes of their tile, in units of the first place.
template <int64_t digits>
inline Vec combine(const int32_t* sums) {
  const auto plane = [sums](int64_t p) { return load_raw<IntVec>(sums + p * kTileSums); };
  constexpr float kPlace = 0x1p-8F;
  if constexpr (digits == 1) return sums_of(plane(0));
  if constexpr (digits == 2) return sums_of(plane(1)) * kPlace + sums_of(plane(0));
  if constexpr (digits == 3) {
    const Vec low = sums_of(plane(2) + plane(3)) * kPlace + sums_of(plane(1));
    return low * kPlace + sums_of(plane(0));
  }
  if constexpr (digits == 4) {
    const Vec low = sums_of(plane(3)) * kPlace + sums_of(plane(2));
    return (low * kPlace + sums_of(plane(1))) * kPlace + sums_of(plane(0));
  }
}

// The rows of a product that take the same number of digits.
struct Rows {
  const PackedWeight& weight;
  const Linear<float>& call;
  const RowList& list;
  int64_t panel;  // its first row
};

// A block of sums whose place in the result is known.
struct Block {
  const int32_t* sums;
  const std::byte* w;  // the scales of its columns are at the end of each column tile
  int64_t first_row;   // in the list
  int64_t column;
};

// Turns a block of sums into results, some of its rows at a time.
template <int64_t digits, Epilogue epilogue>
class BlockFinish {
  using S = Scheme<digits>;

 public:
  static constexpr int64_t kRows = S::kRowTiles * S::kColumnTiles * kTileRows;  // of all tiles

  explicit BlockFinish(const Rows& rows)
      : rows_(rows), column_size_(column_bytes<S::kWeightDigits>(rows.weight.in_features)) {}

  void take(const Block& block) {
    block_ = block;
    for (int64_t tile = 0; tile < S::kColumnTiles; ++tile) {
      const int64_t lanes = lanes_of(tile);
      bias_[tile] = rows_.call.bias ? load_lanes(rows_.call.bias + column_of(tile), lanes) : Vec{};
      scales_[tile] = load_raw<Vec>(block.w + (tile + 1) * column_size_ - kScaleBytes);
    }
  }

  // Rows [begin, end) of kRows; none before the first take().
  void finish(int64_t begin, int64_t end) const {
    if (block_.sums == nullptr) return;
    for (int64_t tile = 0; tile < S::kRowTiles * S::kColumnTiles; ++tile) {
      const int64_t first = tile * kTileRows;
      finish_tile(tile, begin > first ? begin - first : 0,
                  end < first + kTileRows ? end - first : kTileRows);
    }
  }

 private:
  int64_t column_of(int64_t column_tile) const { return block_.column + column_tile * kLanes; }
  int64_t lanes_of(int64_t column_tile) const {
    return rows_.weight.out_features - column_of(column_tile);
  }

  void finish_tile(int64_t tile, int64_t begin, int64_t end) const {
    const int64_t column_tile = tile % S::kColumnTiles;
    const int64_t first = block_.first_row + tile / S::kColumnTiles * kTileRows;
    const int64_t column = column_of(column_tile);
    const int64_t lanes = lanes_of(column_tile);
    const int64_t listed = rows_.list.count - first;
    if (end > listed) end = listed;
    if (begin >= end || lanes <= 0) return;
    const Vec bias = bias_[column_tile];
    const Vec column_scales = scales_[column_tile];
    const int32_t* sums = block_.sums + tile * S::kPlanes * kTileSums;
    const auto finish_row = [&](int64_t r, int64_t lanes_of_row) {
      const Vec scales = column_scales * rows_.list.scales[first + r];
      const int64_t row = rows_.panel + rows_.list.row[first + r];
      finish_lanes<epilogue>(combine<digits>(sums + r * kLanes) * scales + bias, rows_.call,
                             row * rows_.weight.out_features + column, lanes_of_row);
    };
    if (lanes >= kLanes) {
      for (int64_t r = begin; r < end; ++r) finish_row(r, kLanes);
    } else {
      for (int64_t r = begin; r < end; ++r) finish_row(r, lanes);
    }
  }

  const Rows& rows_;
  int64_t column_size_;
  Block block_ = {};
  Vec bias_[S::kColumnTiles] = {};
  Vec scales_[S::kColumnTiles] = {};
};

// The list's rows of x lie in tiles at `x`.
template <int64_t digits, Epilogue epilogue>
void multiply_tiles(const Rows& rows, const std::byte* x) {
  using S = Scheme<digits>;
  using Finish = BlockFinish<digits, epilogue>;
  const PackedWeight& weight = rows.weight;
  const int64_t steps = blocks(weight.in_features, kInner);
  const int64_t row_tile = steps * digits * kTileBytes;
  const int64_t column_size = column_bytes<S::kWeightDigits>(weight.in_features);
  alignas(64) int32_t sums[2][S::kPlanes * Finish::kRows * kLanes];
  // A block is finished while the next one is multiplied, some rows with every step.
  const int64_t share = blocks(Finish::kRows, steps);
  Finish previous(rows);
  int64_t turn = 0;
  for (int64_t n = 0; n < weight.out_features; n += kLanes * S::kColumnTiles) {
    const std::byte* w = weight.data + n / kLanes * column_size;
    for (int64_t m = 0; m < rows.list.count; m += kTileRows * S::kRowTiles, turn ^= 1) {
      block_product<digits>(
          {.x = x + m / kTileRows * row_tile,
           .x_tile = row_tile,
           .w = w,
           .w_tile = column_size,
           .steps = steps},
          sums[turn], [&](int64_t step) { previous.finish(step * share, (step + 1) * share); });
      previous.take({.sums = sums[turn], .w = w, .first_row = m, .column = n});
    }
  }
  previous.finish(0, Finish::kRows);
}

// The product of the list's rows, which lie in tiles at `x`. What follows the last one in its block
// of rows is whatever the memory held: its results are thrown away.
template <int64_t digits>
void multiply_rows(const Rows& rows, const std::byte* x) {
  if (rows.list.count == 0) return;
  compiler_fence();
  with_epilogue(rows.call.epilogue,
                [&]<Epilogue epilogue>() { multiply_tiles<digits, epilogue>(rows, x); });
}

template <int64_t digits>
void multiply(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  const TileScope tiles;
  // Rows that stay in the second cache beside W going by; wider ones gain more from a longer panel.
  constexpr int64_t kNarrowBytes = 1536;
  const int64_t width = weight.in_features;
  const int64_t panel_rows = width * digits <= kNarrowBytes ? kPanelRows / 2 : kPanelRows;
  for (int64_t panel = 0; panel < call.rows; panel += panel_rows) {
    const float* x = call.x + panel * width;
    const int64_t count = call.rows - panel < panel_rows ? call.rows - panel : panel_rows;
    RowList usual;
    RowList uneven;  // with four digits
    for (int64_t r = 0; r < count; ++r) {
      const RowMeasure row = measure(x + r * width, width);
      if (digits == 3 && needs_four_digits(row, width)) {
        uneven.push(r, row.largest);
        continue;
      }
      usual.push(r, row.largest);
      lay_out_row<digits>(x + r * width, width, usual, usual.count - 1, scratch);
    }
    multiply_rows<digits>({weight, call, usual, panel}, scratch);
    if constexpr (digits == 3) {
      for (int64_t i = 0; i < uneven.count; ++i)
        lay_out_row<4>(x + uneven.row[i] * width, width, uneven, i, scratch);
      multiply_rows<4>({weight, call, uneven, panel}, scratch);
    }
  }
}

// Calls body<number of digits>().
template <typename Body>
auto with_digits(Operands operands, const Body& body) {
  switch (operands) {
    case Operands::kOneDigit:
      return body.template operator()<1>();
    case Operands::kTwoDigits:
      return body.template operator()<2>();
    case Operands::kThreeDigits:
    case Operands::kBFloat16:
      break;
  }
  return body.template operator()<3>();
}

}  // namespace

int64_t packed_bytes(const PackedWeight& weight) {
  return with_digits(weight.operands, [&]<int64_t digits>() {
    return weight.column_blocks() * PackedWeight::kBlockColumns / kLanes *
           column_bytes<digits>(weight.in_features);
  });
}

int64_t scratch_bytes(const PackedWeight& weight) {
  return with_digits(weight.operands, [&]<int64_t digits>() {
    constexpr int64_t kMostDigits = digits == 3 ? 4 : digits;
    return kPanelRows / kTileRows * blocks(weight.in_features, kInner) * kMostDigits * kTileBytes;
  });
}

void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  constexpr int64_t kTiles = PackedWeight::kBlockColumns / kLanes;
  with_digits(shape.operands, [&]<int64_t digits>() {
    for (int64_t tile = range.begin * kTiles; tile < range.end * kTiles; ++tile) {
      pack_columns<digits>(weight, shape, tile * kLanes,
                           to + tile * column_bytes<digits>(shape.in_features));
    }
  });
}

void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  with_digits(weight.operands, [&]<int64_t digits>() { multiply<digits>(weight, call, scratch); });
}

}  // namespace encode::kernels::amx::digits
