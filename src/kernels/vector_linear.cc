// The kernels of packed_product.h on vector registers for the instruction set ENCODE_ISA.
// word_products.h describes the blocking in registers and the order of sums.
//
// W is packed in the order [column block][stripe][word][columns of a stripe]. The registers of a
// stripe that are multiplied with one word of x are therefore adjacent, and a block of results
// reads W front to back.
#include "kernels/linear_functions.h"
#include "kernels/vector_formats.h"

namespace encode::kernels::ENCODE_ISA {
namespace {

constexpr int64_t kColumns = PackedWeight::kBlockColumns;
constexpr int64_t kVectors = kColumns / kLanes;  // groups of sixteen columns in a block

// The rows of a block of results. With AVX2, 12 sums, 2 registers of W and 1 word of x use 15 of 16
// registers. With AVX-512 there are registers for fourteen rows. But if the length of a row of x is
// a multiple of 4 kB, all rows use the same set of the first-level cache. This set may have only
// eight ways, so a block has eight rows.
#ifdef __AVX512F__
constexpr int64_t kRows = 8;
#else
constexpr int64_t kRows = 6;
#endif

// The number of columns of a block of results. These columns are a stripe. A packed block of
// columns has one or more stripes.
constexpr int64_t kStripe = kProductVectors * kWide;
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

// words_bytes() is the size of the words of a block of columns. block_bytes() adds the scales.
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

// Returns the number of blocks of columns in a group. As words these blocks have about kGroupBytes,
// so that they stay in the second-level cache.
template <typename Format>
int64_t group_blocks(int64_t in_features) {
  return blocks(kGroupBytes, block_words<Format>(in_features) * kWordBytes);
}

// Returns the words from one widened row of x to the next. This is sixteen words more than a row
// needs, because rows at distances of a multiple of 4 kB would use the same set of the first-level
// cache.
inline int64_t widened_stride(int64_t in_features) {
  return (blocks(in_features, kLanes) + 1) * kLanes;
}

// Returns the words of the largest group of columns.
template <typename Format>
int64_t widened_columns(const PackedWeight& weight) {
  const int64_t most = group_blocks<Format>(weight.in_features);
  const int64_t group = weight.column_blocks() < most ? weight.column_blocks() : most;
  return group * block_words<Format>(weight.in_features);
}

// Returns the size of the scratch memory. A widened format needs it for the words of a group of
// columns, and then for the words of kRows rows of x. The other formats need it for lay_out() only.
template <typename Format>
int64_t scratch_bytes(const PackedWeight& weight) {
  const int64_t in_features = weight.in_features;
  if constexpr (Format::kWidened) {
    return (widened_columns<Format>(weight) + kRows * widened_stride(in_features)) * kWordBytes;
  }
  return panel_scratch_bytes<Format>(in_features);
}

// Returns whether the numbers of x have an offset, which the sums of a column are corrected for.
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

// The product of some rows of x and a block of 32 columns of W. `sums` is [rows][32].
struct BlockProduct {
  const float* x;
  int64_t stride;
  const float* w;
  int64_t depth;  // words of a row of x or a column of W
  float* sums;
};

// Computes a block with a constant number of rows. The whole inner dimension is one part.
template <typename Words, int64_t rows>
[[gnu::noinline]] void multiply_rows(const BlockProduct& block) {
  const BlockShape shape = {.k = block.depth, .lda = block.stride, .ldb = kStripe, .ldc = kColumns};
  for (int64_t n = 0; n < kColumns; n += kStripe) {
    multiply_block<Words, rows, kProductVectors, true, false>(
        shape, {block.x, block.w + place(n, block.depth), block.sums + n, kWide});
  }
}

// Computes a block with `rows` rows, from 1 to `most`.
template <typename Words, int64_t most = kRows>
void multiply_rows(const BlockProduct& block, int64_t rows) {
  if constexpr (most > 1) {
    if (rows < most) return multiply_rows<Words, most - 1>(block, rows);
  }
  multiply_rows<Words, most>(block);
}

// Multiplies a panel with W. kRows rows of x are multiplied with all blocks of columns of a group,
// so that these rows stay in the first-level cache. All rows of the panel are multiplied with one
// group before the next group, so that the group stays in the second-level cache.
template <typename Format, Epilogue epilogue>
class PanelProduct {
  using T = typename Format::Element;

 public:
  PanelProduct(const PackedWeight& weight, const Linear<T>& call, const Panel& panel,
               std::byte* scratch)
      : weight_(weight),
        call_(call),
        panel_(panel),
        block_bytes_(block_bytes<Format>(weight.in_features)),
        block_words_(block_words<Format>(weight.in_features)),
        scratch_(reinterpret_cast<float*>(scratch)) {}

  void run() const {
    const int64_t group = group_blocks<Format>(weight_.in_features);
    const int64_t count = weight_.column_blocks();
    for (int64_t first = 0; first < count; first += group) {
      const int64_t end = first + group < count ? first + group : count;
      if constexpr (Format::kWidened) widen_columns(first, end);
      for (int64_t row = 0; row < panel_.rows; row += kRows) {
        const int64_t rows = panel_.rows - row < kRows ? panel_.rows - row : kRows;
        const BlockRows x = rows_at(row, rows);
        for (int64_t block = first; block < end; ++block)
          run_block(block, columns_at(block, first), x);
      }
    }
  }

 private:
  // The rows of x that are multiplied with a block of columns.
  struct BlockRows {
    const float* words;
    int64_t stride;
    int64_t row;  // number of the first row in the panel
    int64_t count;
  };

  const std::byte* packed(int64_t block) const { return weight_.data + block * block_bytes_; }
  float* widened_rows() const { return scratch_ + widened_columns<Format>(weight_); }

  // Converts the blocks of a group to float32 words, in the order in which they are stored.
  void widen_columns(int64_t first, int64_t end) const {
    const T* from = reinterpret_cast<const T*>(packed(first));
    const int64_t words = (end - first) * block_words_;
    for (int64_t i = 0; i < words; i += kLanes) store(load(from + i), scratch_ + i);
  }

  const float* columns_at(int64_t block, int64_t first) const {
    if constexpr (Format::kWidened) return scratch_ + (block - first) * block_words_;
    return reinterpret_cast<const float*>(packed(block));
  }

  BlockRows rows_at(int64_t row, int64_t count) const {
    if constexpr (Format::kWidened) {
      const int64_t width = weight_.in_features;
      const int64_t stride = widened_stride(width);
      for (int64_t r = 0; r < count; ++r) {
        const T* from = call_.x + (panel_.first + row + r) * width;
        float* to = widened_rows() + r * stride;
        for (int64_t i = 0; i < width; i += kLanes) store(load_lanes(from + i, width - i), to + i);
      }
      return {widened_rows(), stride, row, count};
    }
    return {panel_.words + row * panel_.stride, panel_.stride, row, count};
  }

  void run_block(int64_t block, const float* columns, const BlockRows& x) const {
    alignas(64) float sums[kRows * kColumns];
    multiply_rows<typename Format::Words>({.x = x.words,
                                           .stride = x.stride,
                                           .w = columns,
                                           .depth = Format::count(weight_.in_features),
                                           .sums = sums},
                                          x.count);
    for (int64_t vector = 0; vector < kVectors; ++vector) {
      const int64_t column = block * kColumns + vector * kLanes;
      const int64_t lanes = weight_.out_features - column;
      if (lanes <= 0) return;
      const Vec bias = call_.bias ? load_lanes(call_.bias + column, lanes) : Vec{};
      const auto result =
          results_of(packed(block) + words_bytes<Format>(weight_.in_features), vector);
      for (int64_t r = 0; r < x.count; ++r) {
        const int64_t row = x.row + r;
        const Vec sum = result(load(sums + r * kColumns + vector * kLanes), row) + bias;
        finish_lanes<epilogue, Format::kExact>(
            sum, call_, (panel_.first + row) * weight_.out_features + column, lanes);
      }
    }
  }

  // Returns a function that turns sixteen sums of a row into sixteen results without their bias.
  auto results_of(const std::byte* scales, int64_t vector) const {
    if constexpr (Format::kScaled) {
      const auto part = vector * kLanes * kWordBytes;
      const Vec scale = load_raw<Vec>(scales + offsetof(ColumnScales, scale) + part);
      const auto correction = load_raw<IntVec>(scales + offsetof(ColumnScales, correction) + part);
      return [this, scale, correction](Vec sums, int64_t row) {
        const IntVec exact = reinterpret_cast<IntVec>(sums) - correction;
        return __builtin_convertvector(exact, Vec) * (scale * panel_.scales[row]);
      };
    } else {
      return [](Vec sums, int64_t) { return sums; };
    }
  }

  const PackedWeight& weight_;
  const Linear<T>& call_;
  const Panel& panel_;
  int64_t block_bytes_;
  int64_t block_words_;
  float* scratch_;
};

template <typename Format>
void linear(const PackedWeight& weight, const Linear<typename Format::Element>& call,
            std::byte* scratch) {
  const int64_t most = lays_out<Format>(weight.in_features)
                           ? panel_rows(laid_out_bytes<Format>(weight.in_features))
                           : call.rows;
  for (int64_t first = 0; first < call.rows; first += most) {
    const int64_t rows = call.rows - first < most ? call.rows - first : most;
    const Panel panel = lay_out<Format>(
        call.x, weight.in_features,
        {.words = nullptr, .stride = 0, .scales = nullptr, .first = first, .rows = rows}, scratch);
    with_epilogue(call.epilogue, [&]<Epilogue epilogue>() {
      PanelProduct<Format, epilogue>(weight, call, panel, scratch).run();
    });
  }
}

template <typename Format>
constexpr LinearFunctions<typename Format::Element> of_format() noexcept {
  return {.pack = pack<Format>,
          .linear = linear<Format>,
          .packed_bytes = packed_bytes<Format>,
          .scratch_bytes = scratch_bytes<Format>};
}

}  // namespace

constinit const VectorLinears vector_linears = {.float32 = of_format<Float32Format>(),
#ifdef __AVX512F__
                                                .int8 = of_format<Int8Format>(),
#else
                                                .int8 = {},
#endif
                                                .int8_pairs = of_format<Int8PairsFormat>(),
#ifdef __AVX512BF16__
                                                .bfloat16 = of_format<BFloat16Format>(),
#else
                                                .bfloat16 = of_format<WidenedFormat<BFloat16>>(),
#endif
                                                .float16 = of_format<WidenedFormat<Float16>>()};

}  // namespace encode::kernels::ENCODE_ISA
