#include "kernels/amx_digits.h"

#include "kernels/amx_tiles.h"

namespace encode::kernels::amx::digits {
namespace {

constexpr int64_t kInner = kTileRowBytes;  // digits in a row of a tile
constexpr int64_t kTileSums = kTileRows * kLanes;
constexpr int64_t kScaleBytes = kLanes * sizeof(float);  // behind the tiles of sixteen columns
constexpr uint32_t kInfinity = 0x7F800000;

// What is different from one number of digits of x to another.
template <int64_t digits>
struct Scheme;
template <>
struct Scheme<1> {
  static constexpr int64_t kWeightDigits = 1;
  static constexpr float kLargest = 0x7F;
  static constexpr int64_t kPlanes = 1;  // sums kept apart, by the place of the product
  static constexpr int64_t kRowTiles = 2, kColumnTiles = 2;  // of one block of results
};
template <>
struct Scheme<2> {
  static constexpr int64_t kWeightDigits = 2;
  static constexpr float kLargest = 0x7F7F;
  static constexpr int64_t kPlanes = 2;
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 2;
};
template <>
struct Scheme<3> {
  static constexpr int64_t kWeightDigits = 3;
  static constexpr float kLargest = 0x7F7F7F - 2;  // scaling may round up by one
  static constexpr int64_t kPlanes = 4;            // the sum of the lowest place is in two halves
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 1;
};
template <>
struct Scheme<4> {
  static constexpr int64_t kWeightDigits = 3;
  static constexpr float kLargest = 0x7F7F7E00;
  static constexpr int64_t kPlanes = 4;
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 1;
};

// ---- Operands ----------------------------------------------------------------------------------

struct RowMeasure {
  float largest;  // magnitude; NaN where an element is not finite
  float sum;      // of magnitudes
};

RowMeasure measure(const float* row, int64_t n) {
  UintVec most = {};
  Vec total = {};
  for (int64_t at = 0; at < n; at += kLanes) {
    const UintVec magnitude = bits_of(load_lanes(row + at, n - at)) & 0x7FFFFFFFU;
    most = magnitude > most ? magnitude : most;
    total += from_bits(magnitude);
  }
  const uint32_t bits = _mm512_reduce_max_epu32(reinterpret_cast<__m512i>(most));
  float largest = 0;
  __builtin_memcpy(&largest, &bits, sizeof largest);
  return {.largest = bits < kInfinity ? largest : __builtin_nanf(""), .sum = sum(total)};
}

// A row with an element so far above the others that three digits would leave little of them.
bool needs_four_digits(const RowMeasure& row, int64_t n) {
  constexpr float kMostOfMean = 64;
  return !(row.largest * static_cast<float>(n) <= kMostOfMean * row.sum);
}

struct RowScale {
  float to_digits;    // x times this is the fixed-point number
  float from_digits;  // of the first digit; NaN for a row that is not finite
};

template <int64_t digits>
RowScale scale_of(float largest) {
  if (largest != largest) return {.to_digits = 0, .from_digits = largest};
  constexpr float kTiny = 1e-30F;  // a row below it is as good as zero, and cannot be divided by
  if (largest < kTiny) largest = kTiny;
  constexpr float kFirstPlace = 1 << 8 * (digits - 1);
  return {.to_digits = Scheme<digits>::kLargest / largest,
          .from_digits = largest / Scheme<digits>::kLargest * kFirstPlace};
}

// Which byte of sixteen-times-four words: byte `place` of each of thirty-two words.
struct alignas(64) ByteOfWords {
  uint8_t index[64];
  constexpr explicit ByteOfWords(int place) : index() {
    for (int i = 0; i < 64; ++i) index[i] = static_cast<uint8_t>(i % 32 * 4 + place);
  }
};

// Sixty-four elements as digits, the first digits at `to`, the next ones a tile further. Adding 128
// to every byte of the two's complement and taking it away from each alone carries what is above
// 127 to the next place.
template <int64_t digits>
inline void store_digits(const float* from, int64_t left, Vec to_digits, std::byte* to) {
  static constexpr ByteOfWords kPlaces[] = {ByteOfWords(0), ByteOfWords(1), ByteOfWords(2),
                                            ByteOfWords(3)};
  const __m512i middle = _mm512_set1_epi32(static_cast<int>(0x80808080U));
  __m512i words[4];
  for (int64_t i = 0; i < 4; ++i) {
    const Vec scaled = load_lanes(from + i * kLanes, left - i * kLanes) * to_digits;
    words[i] = _mm512_add_epi32(_mm512_cvtps_epi32(reinterpret_cast<__m512>(scaled)), middle);
  }
  for (int64_t digit = 0; digit < digits; ++digit) {
    const __m512i bytes = _mm512_load_si512(kPlaces[digits - 1 - digit].index);
    const __m512i first = _mm512_permutex2var_epi8(words[0], bytes, words[1]);
    const __m512i second = _mm512_permutex2var_epi8(words[2], bytes, words[3]);
    const __m512i both = _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1);
    _mm512_store_si512(to + digit * kTileBytes, _mm512_xor_si512(both, _mm512_set1_epi8(-128)));
  }
}

// Rows of a panel of x that take the same number of digits.
struct RowList {
  int64_t count = 0;
  int16_t row[kPanelRows];               // of the panel
  float largest[kPanelRows];             // their measure
  alignas(64) float scales[kPanelRows];  // set by lay_out_rows()

  void push(int64_t panel_row, float most) {
    row[count] = static_cast<int16_t>(panel_row);
    largest[count++] = most;
  }
};

// In tile order, one digit after the other within a step of the inner dimension:
// [row tile][inner step][digit][16][64].
template <int64_t digits>
void lay_out_rows(const float* panel, int64_t in_features, RowList& list, std::byte* to) {
  const int64_t steps = blocks(in_features, kInner);
  constexpr int64_t kBlockRows = kTileRows * Scheme<digits>::kRowTiles;
  for (int64_t r = 0; r < blocks(list.count, kBlockRows) * kBlockRows; ++r) {
    // A row beyond the last repeats it: its results are thrown away.
    const int64_t listed = r < list.count ? r : list.count - 1;
    const float* row = panel + list.row[listed] * in_features;
    const RowScale scale = scale_of<digits>(list.largest[listed]);
    list.scales[r] = scale.from_digits;
    std::byte* out =
        to + r / kTileRows * steps * digits * kTileBytes + r % kTileRows * kTileRowBytes;
    for (int64_t step = 0; step < steps; ++step, out += digits * kTileBytes) {
      const int64_t at = step * kInner;
      store_digits<digits>(row + at, in_features - at, splat(scale.to_digits), out);
    }
  }
}

template <int64_t digits>
int64_t column_bytes(int64_t in_features) {
  return blocks(in_features, kInner) * digits * kTileBytes + kScaleBytes;
}

// Sixteen columns: [inner step][digit][tile], then their scales; a word is four consecutive inputs
// of an output.
template <int64_t digits>
void pack_columns(const float* weight, const PackedWeight& shape, int64_t column, std::byte* to) {
  const int64_t steps = blocks(shape.in_features, kInner);
  alignas(64) std::byte values[digits * kTileBytes];
  RowScale scales[kTileRows];
  float from_digits[kTileRows];
  for (int64_t i = 0; i < kTileRows; ++i) {
    const bool inside = column + i < shape.out_features;
    const RowMeasure row = measure(weight + (inside ? column + i : 0) * shape.in_features,
                                   inside ? shape.in_features : 0);
    scales[i] = scale_of<digits>(row.largest);
    from_digits[i] = scales[i].from_digits;
  }
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t at = step * kInner;
    for (int64_t i = 0; i < kTileRows; ++i) {
      const bool inside = column + i < shape.out_features;
      store_digits<digits>(weight + (inside ? column + i : 0) * shape.in_features + at,
                           inside ? shape.in_features - at : 0, splat(scales[i].to_digits),
                           values + i * kTileRowBytes);
    }
    for (int64_t digit = 0; digit < digits; ++digit, to += kTileBytes)
      store_transposed(values + digit * kTileBytes, to);
  }
  __builtin_memcpy(to, from_digits, sizeof from_digits);
}

// ---- Tiles -------------------------------------------------------------------------------------

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
inline void block_product_1(const BlockOperands& block, int32_t* sums) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < block.steps; ++step, x += kTileBytes, w += kTileBytes) {
    _tile_loadd(4, x, kTileRowBytes);
    _tile_loadd(5, x + block.x_tile, kTileRowBytes);
    _tile_loadd(6, w, kTileRowBytes);
    _tile_loadd(7, w + block.w_tile, kTileRowBytes);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kTileSums, kTileRowBytes);
  _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
}

inline void block_product_2(const BlockOperands& block, int32_t* sums) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < block.steps; ++step, x += 2 * kTileBytes, w += 2 * kTileBytes) {
    _tile_loadd(4, x, kTileRowBytes);
    _tile_loadd(5, x + kTileBytes, kTileRowBytes);
    _tile_loadd(6, w, kTileRowBytes);
    _tile_loadd(7, w + block.w_tile, kTileRowBytes);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(2, 4, 7);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(3, 5, 7);
    _tile_loadd(6, w + kTileBytes, kTileRowBytes);
    _tile_loadd(7, w + block.w_tile + kTileBytes, kTileRowBytes);
    _tile_dpbssd(1, 4, 6);
    _tile_dpbssd(3, 4, 7);
  }
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kTileSums, kTileRowBytes);
  _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
}

// One tile of results: 18 kB of W (of 384 inputs) then stay in the first cache while the rows go
// by.
inline void block_product_3(const BlockOperands& block, int32_t* sums) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < block.steps; ++step, x += 3 * kTileBytes, w += 3 * kTileBytes) {
    _tile_loadd(4, x, kTileRowBytes);
    _tile_loadd(6, w, kTileRowBytes);
    _tile_loadd(5, x + kTileBytes, kTileRowBytes);
    _tile_loadd(7, w + kTileBytes, kTileRowBytes);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 7);
    _tile_loadd(7, w + 2 * kTileBytes, kTileRowBytes);
    _tile_dpbssd(3, 4, 7);
    _tile_loadd(4, x + 2 * kTileBytes, kTileRowBytes);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(2, 4, 6);
  }
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kTileSums, kTileRowBytes);
  _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
}

// Four digits of x against three of W.
inline void block_product_4(const BlockOperands& block, int32_t* sums) {
  const std::byte* x = block.x;
  const std::byte* w = block.w;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < block.steps; ++step, x += 4 * kTileBytes, w += 3 * kTileBytes) {
    _tile_loadd(4, x, kTileRowBytes);
    _tile_loadd(6, w, kTileRowBytes);
    _tile_loadd(7, w + kTileBytes, kTileRowBytes);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, x + kTileBytes, kTileRowBytes);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(2, 5, 7);
    _tile_loadd(6, w + 2 * kTileBytes, kTileRowBytes);
    _tile_dpbssd(2, 4, 6);
    _tile_dpbssd(3, 5, 6);
    _tile_loadd(4, x + 2 * kTileBytes, kTileRowBytes);
    _tile_dpbssd(3, 4, 7);
    _tile_loadd(6, w, kTileRowBytes);
    _tile_dpbssd(2, 4, 6);
    _tile_loadd(5, x + 3 * kTileBytes, kTileRowBytes);
    _tile_dpbssd(3, 5, 6);
  }
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kTileSums, kTileRowBytes);
  _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
}

template <int64_t digits>
inline void block_product(const BlockOperands& block, int32_t* sums) {
  if constexpr (digits == 1) block_product_1(block, sums);
  if constexpr (digits == 2) block_product_2(block, sums);
  if constexpr (digits == 3) block_product_3(block, sums);
  if constexpr (digits == 4) block_product_4(block, sums);
}

// ---- Results -----------------------------------------------------------------------------------

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
    for (int64_t r = 0; r < count; ++r) {
      const Vec scales = column_scales * rows.list.scales[first + r];
      const int64_t row = rows.panel + rows.list.row[first + r];
      finish_lanes<epilogue>(combine<digits>(sums + r * kLanes) * scales + bias, rows.call,
                             row * rows.weight.out_features + column, lanes);
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
  finish(previous, rows);
}

template <int64_t digits>
void multiply(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  const TileScope tiles;
  for (int64_t panel = 0; panel < call.rows; panel += kPanelRows) {
    const int64_t count = call.rows - panel < kPanelRows ? call.rows - panel : kPanelRows;
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
