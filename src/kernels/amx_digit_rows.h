// The operands of amx_digits.cc: rows of float32 numbers as digits, in the order of the tiles.
// Included by it alone.
#pragma once

#include "kernels/amx_tiles.h"
#include "kernels/fixed_point.h"

namespace encode::kernels::amx::digits {

inline constexpr int64_t kInner = kTileRowBytes;  // digits in a row of a tile
inline constexpr int64_t kScaleBytes =
    kLanes * sizeof(float);  // behind the tiles of sixteen columns

// What is different from one number of digits of x to another.
template <int64_t digits>
struct Scheme;
template <>
struct Scheme<1> {
  static constexpr int64_t kWeightDigits = 1;
  static constexpr float kLargest = kLargestInt8;
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
  static constexpr int64_t kPlanes = 3;
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 1;
};
template <>
struct Scheme<4> {
  static constexpr int64_t kWeightDigits = 3;
  static constexpr float kLargest = 0x7F7F7E00;
  static constexpr int64_t kPlanes = 4;
  static constexpr int64_t kRowTiles = 1, kColumnTiles = 1;
};

// A row with an element so far above the others that three digits would leave little of them.
inline bool needs_four_digits(const RowMeasure& row, int64_t n) {
  constexpr float kMostOfMean = 64;
  return !(row.largest * static_cast<float>(n) <= kMostOfMean * row.sum);
}

// from_digits is that of the first digit.
template <int64_t digits>
RowScale scale_of(float largest) {
  constexpr float kFirstPlace = 1 << 8 * (digits - 1);
  RowScale scale = fixed_point_scale(largest, Scheme<digits>::kLargest);
  scale.from_digits *= kFirstPlace;
  return scale;
}

// The bytes of four words beside each other, by their place.
struct alignas(64) BytesByPlace {
  uint8_t index[64];
  constexpr BytesByPlace() : index() {
    for (int i = 0; i < 64; ++i) index[i] = static_cast<uint8_t>(i % 16 % 4 * 4 + i % 16 / 4);
  }
};

// words -> planes[p]: byte p of each of the sixty-four words. Their order in a plane is not that of
// the words, but the same for every row of x and W, and a sum of products does not mind.
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

// Sixty-four elements as digits, the first digits at `to`, the next ones a tile further. Adding 128
// to every byte of the two's complement and taking it away from each alone carries what is above
// 127 to the next place.
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

// One row of a panel of x.
struct PanelRow {
  const float* x;
  float largest;  // its measure
  int16_t number;
};

// The rows that take the same number of digits.
struct RowList {
  int64_t count = 0;
  int16_t row[kMostPanelRows];  // of the panel
  alignas(64) float scales[kMostPanelRows];
};

// Adds a row to a list and to its tiles `to`, one digit after the other within a step of the inner
// dimension: [row tile][inner step][digit][16][64].
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

// The size of a row of x in tiles.
template <int64_t digits>
int64_t row_bytes(int64_t in_features) {
  return blocks(in_features, kInner) * digits * kTileRowBytes;
}

// The size of sixteen columns of W.
template <int64_t digits>
int64_t column_bytes(int64_t in_features) {
  return kTileRows * row_bytes<digits>(in_features) + kScaleBytes;
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

}  // namespace encode::kernels::amx::digits
