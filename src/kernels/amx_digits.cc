// Matrix products of float32 operands on AMX tiles, by the digits of the operands
// (packed_product.h).
#include "kernels/amx.h"
#include "kernels/amx_digit_tiles.h"
#include "kernels/amx_finish.h"
#include "kernels/linear_functions.h"

namespace encode::kernels::amx::digits {
namespace {

inline Vec sums_of(IntVec x) { return __builtin_convertvector(x, Vec); }

// Returns sixteen elements of a row from the planes of their tile. A product of two first digits
// counts as it is, and each later place counts 1/256 of the place before it. The addition starts
// with the last plane, which has the smallest weight.
template <int64_t digits>
inline Vec combine(const int32_t* sums) {
  const auto plane = [sums](int64_t p) { return load_raw<IntVec>(sums + p * kTileSums); };
  constexpr float kPlace = 0x1p-8F;
  if constexpr (digits == 1) return sums_of(plane(0));
  if constexpr (digits == 2) return sums_of(plane(1)) * kPlace + sums_of(plane(0));
  if constexpr (digits == 3) {
    const Vec low = sums_of(plane(2)) * kPlace + sums_of(plane(1));
    return low * kPlace + sums_of(plane(0));
  }
  if constexpr (digits == 4) {
    const Vec low = sums_of(plane(3)) * kPlace + sums_of(plane(2));
    return (low * kPlace + sums_of(plane(1))) * kPlace + sums_of(plane(0));
  }
}

// Multiplies W by those rows of a panel of x that are stored with `digits` digits.
// multiply_blocks() describes the members.
template <int64_t digits>
class DigitProduct {
  using S = Scheme<digits>;

 public:
  using Element = float;
  using Sum = int32_t;
  static constexpr bool kExact = digits > 1;
  static constexpr int64_t kRowTiles = S::kRowTiles;
  static constexpr int64_t kColumnTiles = S::kColumnTiles;
  static constexpr int64_t kSums = S::kPlanes * kTileSums;

  // `x` has the rows of `list` in tiles. `panel` is the number of the panel's first row in the
  // result.
  DigitProduct(const PackedWeight& weight, const RowList& list, const std::byte* x, int64_t panel)
      : weight_(weight),
        list_(list),
        x_(x),
        panel_(panel),
        steps_(blocks(weight.in_features, kInner)),
        column_size_(column_bytes<S::kWeightDigits>(weight.in_features)) {}

  int64_t rows() const { return list_.count; }
  int64_t columns() const { return weight_.out_features; }
  int64_t steps() const { return steps_; }
  int64_t block_bytes() const { return kColumnTiles * column_size_; }
  int64_t result_row(int64_t row) const { return panel_ + list_.row[row]; }

  template <typename Between>
  void multiply(const BlockPlace& place, int32_t* sums, const Between& between) const {
    const int64_t row_tile = steps_ * digits * kTileBytes;
    block_product<digits>({.x = x_ + place.row / kTileRows * row_tile,
                           .x_tile = row_tile,
                           .w = columns_at(place.column),
                           .w_tile = column_size_,
                           .steps = steps_},
                          sums, between);
  }

  void take(const BlockPlace& place) {
    const std::byte* w = columns_at(place.column);
    for (int64_t tile = 0; tile < kColumnTiles; ++tile)
      scales_[tile] = load_raw<Vec>(w + (tile + 1) * column_size_ - kScaleBytes);
  }

  Vec sum(const int32_t* sums, const TileRow& row) const {
    return combine<digits>(sums + row.tile * kSums + row.row * kLanes) *
           (scales_[row.column_tile] * list_.scales[row.product_row]);
  }

 private:
  const std::byte* columns_at(int64_t column) const {
    return weight_.data + column / kLanes * column_size_;
  }

  const PackedWeight& weight_;
  const RowList& list_;
  const std::byte* x_;
  int64_t panel_;
  int64_t steps_;
  int64_t column_size_;
  Vec scales_[kColumnTiles] = {};
};

template <int64_t digits>
void multiply_rows(DigitProduct<digits> product, const Linear<float>& call) {
  if (product.rows() == 0) return;
  with_epilogue(call.epilogue,
                [&]<Epilogue epilogue>() { multiply_blocks<epilogue>(product, call); });
}

template <int64_t digits>
void multiply(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  const TileSession tiles;
  const int64_t width = weight.in_features;
  const int64_t most = panel_rows(row_bytes<digits>(width));
  for (int64_t panel = 0; panel < call.rows; panel += most) {
    const int64_t count = call.rows - panel < most ? call.rows - panel : most;
    RowList usual;
    // The rows that need four digits. They are laid out in `scratch` after the other rows are
    // multiplied.
    PanelRow uneven[kMostPanelRows];
    int64_t uneven_count = 0;
    for (int64_t r = 0; r < count; ++r) {
      const float* x = call.x + (panel + r) * width;
      const RowMeasure measured = measure(x, width);
      const PanelRow row = {.x = x, .largest = measured.largest, .number = static_cast<int16_t>(r)};
      if (digits == 3 && needs_four_digits(measured, width)) {
        uneven[uneven_count++] = row;
      } else {
        append_row<digits>(row, width, usual, scratch);
      }
    }
    multiply_rows<digits>({weight, usual, scratch, panel}, call);
    if constexpr (digits == 3) {
      RowList list;
      for (int64_t i = 0; i < uneven_count; ++i) append_row<4>(uneven[i], width, list, scratch);
      multiply_rows<4>({weight, list, scratch, panel}, call);
    }
  }
}

// Calls body with the number of digits of the kernel as its template argument.
template <typename Body>
auto with_digits(LinearKernel kernel, const Body& body) {
  if (kernel == LinearKernel::kOneDigitTiles) return body.template operator()<1>();
  if (kernel == LinearKernel::kTwoDigitTiles) return body.template operator()<2>();
  return body.template operator()<3>();
}

int64_t packed_bytes(const PackedWeight& weight) {
  return with_digits(weight.kernel, [&]<int64_t digits>() {
    return weight.column_blocks() * PackedWeight::kBlockColumns / kLanes *
           column_bytes<digits>(weight.in_features);
  });
}

int64_t scratch_bytes(const PackedWeight& weight) {
  return with_digits(weight.kernel, [&]<int64_t digits>() {
    constexpr int64_t kMostDigits = digits == 3 ? 4 : digits;
    return panel_rows(row_bytes<digits>(weight.in_features)) *
           row_bytes<kMostDigits>(weight.in_features);
  });
}

void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  constexpr int64_t kTiles = PackedWeight::kBlockColumns / kLanes;
  with_digits(shape.kernel, [&]<int64_t digits>() {
    for (int64_t tile = range.begin * kTiles; tile < range.end * kTiles; ++tile) {
      pack_columns<digits>(weight, shape, tile * kLanes,
                           to + tile * column_bytes<digits>(shape.in_features));
    }
  });
}

void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  with_digits(weight.kernel, [&]<int64_t digits>() { multiply<digits>(weight, call, scratch); });
}

constexpr LinearFunctions<float> kFunctions = {
    .pack = pack, .linear = linear, .packed_bytes = packed_bytes, .scratch_bytes = scratch_bytes};

}  // namespace
}  // namespace encode::kernels::amx::digits

namespace encode::kernels::amx {

const LinearFunctions<float>& digit_linear() { return digits::kFunctions; }

}  // namespace encode::kernels::amx
