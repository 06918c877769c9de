// The operands of amx_digits.cc: rows of float32 numbers as digits, in the order of the tiles. Only
// amx_digits.cc includes this header. packed_product.h describes the digits and the method.
//
// The first digit of a number is its most significant digit. A step is 64 values of the inner
// dimension, because one row of a tile holds one digit of 64 values. Digits have places, counted
// from 0 for the first digit. The place of a product of two digits is the sum of the places of the
// digits. A plane holds the sums of all products of one place.
#pragma once

#include "kernels/amx_tiles.h"
#include "kernels/fixed_point.h"

namespace encode::kernels::amx::digits {

inline constexpr int64_t kInner = kTileRowBytes;  // digits in a row of a tile
// The bytes of the scales of sixteen columns, which follow the tiles of these columns.
inline constexpr int64_t kScaleBytes = kLanes * sizeof(float);

// The constants that depend on the number of digits of x:
// - kWeightDigits: the digits of W.
// - kLargest: the fixed-point number of the largest magnitude of a row. With this number no digit
//   exceeds 127, even after the errors that scaling makes.
// - kPlanes: the number of planes of sums. Each plane of a tile of results is one tile.
// - kRowTiles and kColumnTiles: the size of a block of results in tiles.
template <int64_t digits>
struct Scheme;
template <>
struct Scheme<1> {
  static constexpr int64_t kWeightDigits = 1;
  static constexpr float kLargest = kLargestInt8;
  static constexpr int64_t kPlanes = 1;
  static constexpr int64_t kRowTiles = 2, kColumnTiles = 2;
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
  static constexpr float kLargest = 0x7F7F7F - 2;  // scaling may add one to the exact number
  static constexpr int64_t kPlanes = 3;
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 1;
};
template <>
struct Scheme<4> {
  static constexpr int64_t kWeightDigits = 3;
  static constexpr float kLargest = 0x7F7F7E00;  // two float32 numbers below the exact number
  static constexpr int64_t kPlanes = 4;
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 1;
};

// Returns true if the largest element is so far above the mean magnitude that three digits would
// keep too few bits of the other elements. Returns true also for a row that is not finite.
inline bool needs_four_digits(const RowMeasure& row, int64_t n) {
  constexpr float kMostOfMean = 64;
  return !(row.largest * static_cast<float>(n) <= kMostOfMean * row.sum);
}

// Returns the scale of a row. `from_digits` is the value of one unit of the first digit, which is
// the most significant one.
template <int64_t digits>
RowScale scale_of(float largest) {
  constexpr float kFirstPlace = 1 << 8 * (digits - 1);
  static_assert(Scheme<digits>::kLargest / kLeastScaled < __FLT_MAX__);
  RowScale scale = fixed_point_scale(largest, Scheme<digits>::kLargest);
  scale.from_digits *= kFirstPlace;
  return scale;
}

// The index with which VPSHUFB transposes each group of four words as a square of 4 x 4 bytes. The
// bytes of one place are then adjacent.
struct alignas(64) BytesByPlace {
  uint8_t index[64];
  constexpr BytesByPlace() : index() {
    for (int i = 0; i < 64; ++i) index[i] = static_cast<uint8_t>(i % 16 % 4 * 4 + i % 16 / 4);
  }
};

// Moves byte p of each of the 64 words to planes[p], for the lowest `places` bytes. The order of
// the bytes differs from the order of the words. This order is the same for every row of x and W,
// so each product has the right factors. The sums are exact, so the order of the products does not
// matter.
template <int64_t places>
inline void split_places(const __m512i* words, __m512i* planes) {
  static constexpr BytesByPlace kByPlace;
  const __m512i by_place = _mm512_load_si512(kByPlace.index);
  __m512i w[4];
  for (int64_t i = 0; i < 4; ++i) w[i] = _mm512_shuffle_epi8(words[i], by_place);
  const __m512i low_01 = _mm512_unpacklo_epi32(w[0], w[1]);
  const __m512i low_23 = _mm512_unpacklo_epi32(w[2], w[3]);
  planes[0] = _mm512_unpacklo_epi64(low_01, low_23);
  if constexpr (places > 1) planes[1] = _mm512_unpackhi_epi64(low_01, low_23);
  if constexpr (places > 2) {
    const __m512i high_01 = _mm512_unpackhi_epi32(w[0], w[1]);
    const __m512i high_23 = _mm512_unpackhi_epi32(w[2], w[3]);
    planes[2] = _mm512_unpacklo_epi64(high_01, high_23);
    if constexpr (places > 3) planes[3] = _mm512_unpackhi_epi64(high_01, high_23);
  }
}

// Stores 64 elements as digits: the first digits at `to`, and each following digit one tile
// further. `left` is the number of elements that the row still has; the others are zero.
//
// Two operations turn the bytes of a two's complement number into signed digits from -128 to 127.
// The addition of 128 to each byte carries 1 into the next place if the byte is above 127. The
// exclusive or then subtracts 128 from each byte without a carry.
template <int64_t digits>
inline void store_digits(const float* from, int64_t left, Vec to_digits, std::byte* to) {
  const __m512i middle = _mm512_set1_epi32(static_cast<int>(0x80808080U));
  __m512i words[4];
  const auto take = [&](int64_t i, Vec x) {
    const Vec scaled = x * to_digits;
    words[i] = _mm512_cvtps_epi32(reinterpret_cast<__m512>(scaled));
    if constexpr (digits > 1)
      words[i] = _mm512_xor_si512(_mm512_add_epi32(words[i], middle), middle);
  };
  if (left >= kInner) {
    for (int64_t i = 0; i < 4; ++i) take(i, load(from + i * kLanes));
  } else {
    for (int64_t i = 0; i < 4; ++i) take(i, load_lanes(from + i * kLanes, left - i * kLanes));
  }
  __m512i planes[digits];
  split_places<digits>(words, planes);
  for (int64_t digit = 0; digit < digits; ++digit)
    _mm512_store_si512(to + digit * kTileBytes, planes[digits - 1 - digit]);
}

struct PanelRow {
  const float* x;
  float largest;   // RowMeasure::largest
  int16_t number;  // the number of the row in the panel
};

// The rows of a panel that have the same number of digits.
struct RowList {
  int64_t count = 0;
  int16_t row[kMostPanelRows];  // the number of each row in the panel
  alignas(64) float scales[kMostPanelRows];
};

// Appends a row to `list`, and appends its digits to the tiles at `to`. The order of the tiles is
// [row tile][step][digit][16 rows][64 elements].
template <int64_t digits>
void append_row(const PanelRow& row, int64_t in_features, RowList& list, std::byte* to) {
  const int64_t steps = blocks(in_features, kInner);
  const int64_t listed = list.count++;
  const RowScale scale = scale_of<digits>(row.largest);
  list.row[listed] = row.number;
  list.scales[listed] = scale.from_digits;
  to += listed / kTileRows * steps * digits * kTileBytes + listed % kTileRows * kTileRowBytes;
  for (int64_t step = 0; step < steps; ++step, to += digits * kTileBytes) {
    const int64_t at = step * kInner;
    store_digits<digits>(row.x + at, in_features - at, splat(scale.to_digits), to);
  }
}

// Returns the bytes that one row of x takes in tiles.
template <int64_t digits>
int64_t row_bytes(int64_t in_features) {
  return blocks(in_features, kInner) * digits * kTileRowBytes;
}

// Returns the bytes that sixteen columns of W take, with their scales.
template <int64_t digits>
int64_t column_bytes(int64_t in_features) {
  return kTileRows * row_bytes<digits>(in_features) + kScaleBytes;
}

// Packs sixteen columns of W in the order [step][digit][tile], and then their scales. A word of 32
// bits in a tile holds four inputs of one output, which are neighbours in the order of
// store_digits().
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

}  // namespace encode::kernels::amx::digits
