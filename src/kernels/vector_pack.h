// The order in which vector_linear.cc reads W, and the functions that pack W in this order. Only
// vector_linear.cc includes this header.
//
// W is packed in the order [column block][stripe][word][columns of a stripe]. The registers of a
// stripe that are multiplied with one word of x are therefore adjacent, and a block of results
// reads W front to back.
#pragma once

#include "kernels/packed_product.h"
#include "kernels/vector_formats.h"

namespace encode::kernels::ENCODE_ISA {

inline constexpr int64_t kColumns = PackedWeight::kBlockColumns;
inline constexpr int64_t kVectors = kColumns / kLanes;  // groups of sixteen columns in a block

// The number of columns of a block of results. These columns are a stripe. A packed block of
// columns has one or more stripes.
inline constexpr int64_t kStripe = kProductVectors * kWide;
static_assert(kColumns % kStripe == 0 && kStripe % kLanes == 0, "a packed vector is in one stripe");

// Returns the position of the first word of a column in its block, if columns have `words` words.
constexpr int64_t place(int64_t column, int64_t words) {
  return column / kStripe * kStripe * words + column % kStripe;
}

// Returns the number of words in a block of columns.
template <typename Format>
int64_t block_words(int64_t in_features) {
  return Format::count(in_features) * kColumns;
}

// words_bytes() is the size in bytes of the packed words of one block of columns. block_bytes()
// includes the scales after them.
template <typename Format>
int64_t words_bytes(int64_t in_features) {
  return block_words<Format>(in_features) * static_cast<int64_t>(sizeof(typename Format::Stored));
}

template <typename Format>
int64_t block_bytes(int64_t in_features) {
  return words_bytes<Format>(in_features) + (Format::kScaled ? sizeof(ColumnScales) : 0);
}

template <typename Format>
int64_t packed_bytes(const PackedWeight& weight) {
  return weight.column_blocks() * block_bytes<Format>(weight.in_features);
}

// Returns whether the numbers of x have an offset. The sums of a column are then corrected for it.
template <typename Format>
constexpr bool corrects_sums() {
  if constexpr (Format::kScaled) return Format::kMiddles != 0;
  return false;
}

// Packs sixteen columns, from `column` on.
template <typename Format>
class ColumnPacker {
  using Element = typename Format::Element;

 public:
  ColumnPacker(const Element* weight, const PackedWeight& shape, int64_t column)
      : weight_(weight), shape_(shape), column_(column) {}

  // Writes the words of the columns into their block, which begins at `words`.
  void pack(typename Format::Stored* words) {
    if constexpr (Format::kScaled) measure_columns();
    constexpr int64_t kStep = kLanes * Format::kWordElements;
    const int64_t count = Format::count(shape_.in_features);
    auto* to = words + place(column_ % kColumns, count);
    for (int64_t word = 0; word < count; word += kLanes) {
      UintVec v[kLanes] = {};
      for (int64_t i = 0; i < kLanes && column_ + i < shape_.out_features; ++i) {
        const int64_t at = word / kLanes * kStep;
        v[i] = Format::words(row(i) + at, shape_.in_features - at, to_words_[i]);
        if constexpr (corrects_sums<Format>())
          Format::Words::add(sums_[i], from_bits(UintVec{} + Format::kMiddles), from_bits(v[i]));
      }
      transpose_words(v);
      const int64_t rows = count - word < kLanes ? count - word : kLanes;
      for (int64_t i = 0; i < rows; ++i) store_words(v[i], to + (word + i) * kStripe);
    }
  }

  void store_scales(ColumnScales& to, int64_t first) const {
    for (int64_t i = 0; i < kLanes; ++i) {
      to.scale[first + i] = from_words_[i];
      const auto parts = reinterpret_cast<IntVec>(sums_[i]);
      to.correction[first + i] = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane) to.correction[first + i] += parts[lane];
    }
  }

 private:
  static void store_words(const UintVec& words, typename Format::Stored* to) {
    if constexpr (Format::kWidened) {
      store_raw(__builtin_convertvector(words, ShortVec), to);
    } else {
      store_raw(words, to);
    }
  }

  const Element* row(int64_t i) const { return weight_ + (column_ + i) * shape_.in_features; }

  void measure_columns() {
    for (int64_t i = 0; i < kLanes && column_ + i < shape_.out_features; ++i) {
      const RowScale scale =
          fixed_point_scale(largest_magnitude(row(i), shape_.in_features), kLargestInt8);
      to_words_[i] = scale.to_digits;
      from_words_[i] = scale.from_digits;
    }
  }

  const Element* weight_;
  const PackedWeight& shape_;
  int64_t column_;
  float to_words_[kLanes] = {};
  float from_words_[kLanes] = {};
  Vec sums_[kLanes] = {};
};

template <typename Format>
void pack(const typename Format::Element* weight, const PackedWeight& shape, BlockRange range,
          std::byte* to) {
  const int64_t size = block_bytes<Format>(shape.in_features);
  for (int64_t block = range.begin; block < range.end; ++block) {
    std::byte* out = to + block * size;
    ColumnScales scales = {};
    for (int64_t vector = 0; vector < kVectors; ++vector) {
      ColumnPacker<Format> packer(weight, shape, block * kColumns + vector * kLanes);
      packer.pack(reinterpret_cast<typename Format::Stored*>(out));
      if constexpr (Format::kScaled) packer.store_scales(scales, vector * kLanes);
    }
    if constexpr (Format::kScaled)
      __builtin_memcpy(out + words_bytes<Format>(shape.in_features), &scales, sizeof scales);
  }
}

}  // namespace encode::kernels::ENCODE_ISA
