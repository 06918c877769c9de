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

// A block of sums whose place in the result is known.
struct Block {
  const int32_t* sums;
  const std::byte* w;  // the scales of its columns are at the end of each column tile
  int64_t first_row;   // in the list
  int64_t column;
};

// The rows of a product that take the same number of digits.
struct Rows {
  const PackedWeight& weight;
  const Linear<float>& call;
  const RowList& list;
  int64_t panel;  // its first row
};

using Finish = void (*)(const Block&, const Rows&);

template <int64_t digits, Epilogue epilogue>
void finish_block(const Block& block, const Rows& rows) {
  using S = Scheme<digits>;
  const int64_t column_size = column_bytes<S::kWeightDigits>(rows.weight.in_features);
  for (int64_t tile = 0; tile < S::kRowTiles * S::kColumnTiles; ++tile) {
    const int64_t first = block.first_row + tile / S::kColumnTiles * kTileRows;
    const int64_t column = block.column + tile % S::kColumnTiles * kLanes;
    const int64_t count = rows.list.count - first < kTileRows ? rows.list.count - first : kTileRows;
    const int64_t lanes = rows.weight.out_features - column;
    if (lanes <= 0) continue;
    const Vec bias = rows.call.bias ? load_lanes(rows.call.bias + column, lanes) : Vec{};
    const Vec column_scales =
        load_raw<Vec>(block.w + (tile % S::kColumnTiles + 1) * column_size - kScaleBytes);
    const int32_t* sums = block.sums + tile * S::kPlanes * kTileSums;
    const auto finish = [&](int64_t r, int64_t lanes_of_row) {
      const Vec scales = column_scales * rows.list.scales[first + r];
      const int64_t row = rows.panel + rows.list.row[first + r];
      finish_lanes<epilogue>(combine<digits>(sums + r * kLanes) * scales + bias, rows.call,
                             row * rows.weight.out_features + column, lanes_of_row);
    };
    if (lanes >= kLanes) {
      for (int64_t r = 0; r < count; ++r) finish(r, kLanes);
    } else {
      for (int64_t r = 0; r < count; ++r) finish(r, lanes);
    }
  }
}

template <int64_t digits>
void multiply_rows(const Rows& rows, RowList& list, std::byte* x) {
  using S = Scheme<digits>;
  if (list.count == 0) return;
  const PackedWeight& weight = rows.weight;
  const auto finish = with_epilogue(rows.call.epilogue, []<Epilogue epilogue>() -> Finish {
    return finish_block<digits, epilogue>;
  });
  const int64_t steps = blocks(weight.in_features, kInner);
  const int64_t row_tile = steps * digits * kTileBytes;
  const int64_t column_size = column_bytes<S::kWeightDigits>(weight.in_features);
  alignas(64) int32_t sums[2][S::kRowTiles * S::kColumnTiles * S::kPlanes * kTileSums];
  lay_out_rows<digits>(rows.call.x + rows.panel * weight.in_features, weight.in_features, list, x);
  // A block is finished while the tiles of the next one are multiplied.
  Block previous = {};
  int64_t turn = 0;
  for (int64_t n = 0; n < weight.out_features; n += kLanes * S::kColumnTiles) {
    const std::byte* w = weight.data + n / kLanes * column_size;
    for (int64_t m = 0; m < list.count; m += kTileRows * S::kRowTiles, turn ^= 1) {
      block_product<digits>({.x = x + m / kTileRows * row_tile,
                             .x_tile = row_tile,
                             .w = w,
                             .w_tile = column_size,
                             .steps = steps},
                            sums[turn]);
      if (previous.sums) finish(previous, rows);
      previous = {.sums = sums[turn], .w = w, .first_row = m, .column = n};
    }
  }
  if (previous.sums) finish(previous, rows);
}

template <int64_t digits>
void multiply(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  const TileScope tiles;
  // Rows that stay in the second cache beside W going by; wider ones gain more from a longer panel.
  constexpr int64_t kNarrowBytes = 1536;
  const int64_t panel_rows =
      weight.in_features * digits <= kNarrowBytes ? kPanelRows / 2 : kPanelRows;
  for (int64_t panel = 0; panel < call.rows; panel += panel_rows) {
    const int64_t count = call.rows - panel < panel_rows ? call.rows - panel : panel_rows;
    RowList usual;
    RowList uneven;  // with four digits
    for (int64_t r = 0; r < count; ++r) {
      const RowMeasure row = measure(call.x + (panel + r) * weight.in_features, weight.in_features);
      const bool four = digits == 3 && needs_four_digits(row, weight.in_features);
      (four ? uneven : usual).push(r, row.largest);
    }
    multiply_rows<digits>({weight, call, usual, panel}, usual, scratch);
    if constexpr (digits == 3) multiply_rows<4>({weight, call, uneven, panel}, uneven, scratch);
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
