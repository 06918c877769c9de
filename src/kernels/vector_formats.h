// The operands of vector_linear.cc: the formats of words, and rows of x as words. Only
// vector_linear.cc includes this header.
//
// A word is the content of a lane of a register: a float32 number, or as many values of the inner
// dimension as fit into 32 bits. Most formats store W as words. A format with kWidened stores W as
// 16-bit numbers; rows of x and columns of W are then converted to float32 words just before they
// are multiplied.
#pragma once

#include "kernels/fixed_point.h"
#include "kernels/word_products.h"

namespace encode::kernels::ENCODE_ISA {

inline constexpr int64_t kWordBytes = sizeof(float);

// The rows of a block of results. With AVX-512, 24 sums, 2 registers of W and 1 word of x use 27 of
// 32 registers. With NEON, 24 + 4 + 1 registers of 32 are used, and with AVX2 12 + 2 + 1 of 16.
// Processors with two units for multiply-adds need many rows: a word of W is read from the
// second-level cache once for all of them.
#ifdef __AVX512F__
inline constexpr int64_t kRows = 12;
#else
inline constexpr int64_t kRows = 6;
#endif

struct Float32Format {
  using Element = float;    // the type of x and W
  using Stored = uint32_t;  // the type in which a word of W is stored
  using Words = Float32Words;
  static constexpr int64_t kWordElements = 1;  // elements in a word
  static constexpr bool kExact = true;         // see apply()
  static constexpr bool kScaled = false;       // rows of x and columns of W have scales
  static constexpr bool kWidened = false;
  // Returns the number of words in a row.
  static int64_t count(int64_t in_features) { return in_features; }
  // Returns the next sixteen words of a row that has `left` elements left. Missing elements are
  // zero.
  static UintVec words(const float* from, int64_t left, float /*scale*/) {
    return bits_of(load_lanes(from, left));
  }
};

// Numbers of 16 bits that are multiplied as float32 numbers.
template <typename T>
struct WidenedFormat {
  using Element = T;
  using Stored = T;
  using Words = Float32Words;
  static constexpr int64_t kWordElements = 1;
  // The short formulas are exact enough for bfloat16, but float16 has three bits more.
  static constexpr bool kExact = std::is_same_v<T, Float16>;
  static constexpr bool kScaled = false;
  static constexpr bool kWidened = true;
  static int64_t count(int64_t in_features) { return in_features; }
  // Returns the numbers as they are stored, each in the low half of its word.
  static UintVec words(const T* from, int64_t left, float /*scale*/) {
    ShortVec stored = {};
    const int64_t lanes = left < kLanes ? left : kLanes;
    if (lanes == kLanes) {
      stored = load_raw<ShortVec>(from);
    } else if (lanes > 0) {
      __builtin_memcpy(&stored, from, static_cast<uint64_t>(lanes) * sizeof(T));
    }
    return __builtin_convertvector(stored, UintVec);
  }
};

#ifdef __AVX512BF16__
struct BFloat16Format {
  using Element = BFloat16;
  using Stored = uint32_t;
  using Words = BFloat16Words;
  static constexpr int64_t kWordElements = 2;
  static constexpr bool kExact = false;
  static constexpr bool kScaled = false;
  static constexpr bool kWidened = false;
  static int64_t count(int64_t in_features) { return blocks(in_features, kWordElements); }
  static UintVec words(const BFloat16* from, int64_t left, float /*scale*/) {
    constexpr int64_t kElements = kLanes * kWordElements;
    if (left >= kElements) return load_raw<UintVec>(from);
    UintVec words = {};
    if (left > 0) __builtin_memcpy(&words, from, static_cast<uint64_t>(left) * sizeof(BFloat16));
    return words;
  }
};
#endif

// After this number is added, the lowest bits of the sum are the rounded value.
inline constexpr float kRoundingBias = 0x1.8p23F;

// Quantizes lanes of a row: the factor `scale` makes the largest magnitude of the row 127. The
// result is in the lowest bits of each lane, as a two's complement number of at most 16 bits.
inline UintVec quantized(const float* from, int64_t left, float scale) {
  return bits_of(load_lanes(from, left) * splat(scale) + kRoundingBias);
}
inline Register<uint32_t> quantized(Wide x, float scale) {
  return reinterpret_cast<Register<uint32_t>>(x * (Wide{} + scale) + kRoundingBias);
}

// The two formats of int8 give the same bits, because their sums are exact. In both, the elements
// of a word are sixteen apart in the row, in x and in W.
#ifdef __AVX512F__
// Four bytes, for AVX512_VNNI. Sixteen words hold 64 elements.
struct Int8Format {
  using Element = float;
  using Stored = uint32_t;
  using Words = Int8Words;
  static constexpr int64_t kWordElements = 4;
  static constexpr bool kExact = false;
  static constexpr bool kScaled = true;
  static constexpr bool kWidened = false;
  // AVX512_VNNI needs unsigned bytes of x. So 128 is added to each byte of x (the exclusive or with
  // this constant does so), and the sums are corrected afterwards (ColumnScales).
  static constexpr uint32_t kMiddles = 0x80808080;
  static int64_t count(int64_t in_features) {
    return blocks(in_features, kLanes * kWordElements) * kLanes;
  }
  static UintVec words(const float* from, int64_t left, float scale) {
    const auto byte = [&](int64_t i) {
      return quantized(from + i * kLanes, left - i * kLanes, scale) & 0xFFU;
    };
    return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  }
};
#endif
#if defined(__AVX2__) || defined(__ARM_NEON)
// Two numbers of 16 bits, for a processor without AVX512_VNNI. The products of bytes of AVX2 would
// round sums that do not fit into 16 bits, and not every 64-bit ARM processor has products of bytes
// (SDOT). Sixteen words hold 32 elements.
struct Int8PairsFormat {
  using Element = float;
  using Stored = uint32_t;
  using Words = Int16Words;
  static constexpr int64_t kWordElements = 2;
  static constexpr bool kExact = false;
  static constexpr bool kScaled = true;
  static constexpr bool kWidened = false;
  static constexpr uint32_t kMiddles = 0;  // the numbers of x are signed
  static int64_t count(int64_t in_features) {
    return blocks(in_features, kLanes * kWordElements) * kLanes;
  }
  static UintVec words(const float* from, int64_t left, float scale) {
    return (quantized(from, left, scale) & 0xFFFFU) | quantized(from + kLanes, left - kLanes, scale)
                                                          << 16;
  }
  // Writes the words() of 32 elements, a register at a time: GCC 12 keeps the two registers of a
  // Vec in memory, which takes three times as long.
  static void write_words(const float* from, float scale, float* to) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kLanes; i += kWide) {
      const auto low = quantized(load_raw<Wide>(from + i), scale);
      const auto high = quantized(load_raw<Wide>(from + kLanes + i), scale);
      store_raw((low & 0xFFFFU) | high << 16, to + i);
    }
  }
};
#endif

// The scales of a block of columns. They follow the words of the block if the format has scales.
struct ColumnScales {
  float scale[PackedWeight::kBlockColumns];
  // 128 times the sum of the bytes of a column; 0 if the format has signed numbers of x
  int32_t correction[PackedWeight::kBlockColumns];
};

// Rows of x as words.
struct Panel {
  const float* words;   // null for widened formats: PanelProduct converts a few rows at a time
  int64_t stride;       // words from one row to the next
  const float* scales;  // one for each row; null if the format has no scales
  int64_t first;        // the first row of the panel in x and in the result
  int64_t rows;
};

// Rows whose distance is a multiple of kSetWords words (4 kB) use the same set of the first-level
// cache, which may have only kSetLines lines.
inline constexpr int64_t kSetWords = 1024;
inline constexpr int64_t kSetLines = 8;

// Returns the distance in words from one row of a copy to the next, for rows of `words` words. The
// rows of a block of results then do not share one set of the first-level cache.
inline int64_t copy_stride(int64_t words) {
  const int64_t whole = blocks(words, kLanes) * kLanes;
  return whole % kSetWords == 0 ? whole + kLanes : whole;
}

// Returns whether the rows of x must be copied: to become words, or because the rows of a block of
// results would need more lines of one set than the first-level cache has.
template <typename Format>
bool lays_out(int64_t in_features) {
  return Format::kScaled || in_features % Format::kWordElements != 0 ||
         (kRows > kSetLines && Format::count(in_features) % kSetWords == 0);
}

// Returns the size in bytes of one row that lay_out() has copied.
template <typename Format>
int64_t laid_out_bytes(int64_t in_features) {
  return copy_stride(Format::count(in_features)) * kWordBytes;
}

// The bytes of the scales of a panel. In the scratch memory the scales lie before the rows.
inline constexpr int64_t kPanelScaleBytes = kMostPanelRows * sizeof(float);

// Returns the bytes of scratch memory that lay_out() needs for a panel of `rows` rows.
template <typename Format>
int64_t panel_scratch_bytes(int64_t in_features, int64_t rows) {
  if (!lays_out<Format>(in_features)) return 0;
  return kPanelScaleBytes + rows * laid_out_bytes<Format>(in_features);
}

// Returns `panel` with rows [panel.first, panel.first + panel.rows) of x as words. The rows are
// copied to `scratch` only if lays_out() is true.
template <typename Format>
Panel lay_out(const typename Format::Element* x, int64_t in_features, Panel panel,
              std::byte* scratch) {
  if constexpr (Format::kWidened) return panel;
  x += panel.first * in_features;
  if (!lays_out<Format>(in_features)) {
    panel.words = reinterpret_cast<const float*>(x);
    panel.stride = Format::count(in_features);
    return panel;
  }
  auto* scales = reinterpret_cast<float*>(scratch);
  auto* words = reinterpret_cast<float*>(scratch + kPanelScaleBytes);
  panel.words = words;
  panel.scales = scales;
  panel.stride = laid_out_bytes<Format>(in_features) / kWordBytes;
  constexpr int64_t kStep = kLanes * Format::kWordElements;
  for (int64_t r = 0; r < panel.rows; ++r, x += in_features) {
    float to_words = 0;
    if constexpr (Format::kScaled) {
      const RowScale scale = fixed_point_scale(largest_magnitude(x, in_features), kLargestInt8);
      to_words = scale.to_digits;
      scales[r] = scale.from_digits;
    }
    float* to = words + r * panel.stride;
    int64_t at = 0;
    if constexpr (requires { Format::write_words(x, to_words, to); }) {
      for (; at + kStep <= in_features; at += kStep, to += kLanes)
        Format::write_words(x + at, to_words, to);
    }
    for (; at < in_features; at += kStep, to += kLanes) {
      UintVec row = Format::words(x + at, in_features - at, to_words);
      if constexpr (Format::kScaled) row ^= Format::kMiddles;
      store_raw(row, to);
    }
  }
  return panel;
}

}  // namespace encode::kernels::ENCODE_ISA
