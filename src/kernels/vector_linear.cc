// The kernels of packed_product.h on vector registers for the instruction set ENCODE_ISA.
// word_products.h describes the blocking in registers and the order of sums, and vector_pack.h the
// order of W.
#include "kernels/linear_functions.h"
#include "kernels/vector_pack.h"

namespace encode::kernels::ENCODE_ISA {
namespace {

// A row of x of at most kWholeWords words is multiplied at once. Longer rows are multiplied in
// parts of kPartWords words, whose sums are kept between two parts. The columns of a part then fill
// the second-level cache, and the rows of a part the first-level cache.
constexpr int64_t kWholeWords = 1536;
constexpr int64_t kPartWords = 512;
// The rows of a panel whose rows are multiplied in parts, so that its sums stay in the second-level
// cache.
constexpr int64_t kPartRows = 240;

constexpr bool in_parts(int64_t words) { return words > kWholeWords; }
constexpr int64_t part_words(int64_t words) { return in_parts(words) ? kPartWords : words; }

// How the product with a weight is cut.
struct Cut {
  int64_t depth;         // words of a row of x or a column of W
  int64_t part;          // words that are multiplied at once; the last part may have fewer
  int64_t group_blocks;  // blocks of columns in a group; one part of a group has about kPartBytes
  int64_t rows;          // the most rows of a panel, a multiple of kRows; 0: all rows
};

constexpr int64_t kPartBytes = int64_t{256} << 10;

template <typename Format>
Cut cut_of(const PackedWeight& weight) {
  Cut cut = {.depth = Format::count(weight.in_features), .part = 0, .group_blocks = 0, .rows = 0};
  cut.part = part_words(cut.depth);
  const int64_t group = blocks(kPartBytes, cut.part * kColumns * kWordBytes);
  cut.group_blocks = weight.column_blocks() < group ? weight.column_blocks() : group;
  if (lays_out<Format>(weight.in_features))
    cut.rows = panel_rows(laid_out_bytes<Format>(weight.in_features)) / kRows * kRows;
  if (in_parts(cut.depth) && (cut.rows == 0 || cut.rows > kPartRows)) cut.rows = kPartRows;
  return cut;
}

// The words of the sums that are kept: those of a panel and a group of columns if rows are
// multiplied in parts, and those of one block of results otherwise.
int64_t sum_words(const Cut& cut) {
  constexpr int64_t kBlockSums = kRows * kColumns;
  return in_parts(cut.depth) ? cut.rows / kRows * cut.group_blocks * kBlockSums : kBlockSums;
}

// The number of words of widened columns of W, which are one part of a group.
int64_t widened_columns(const Cut& cut) { return cut.group_blocks * cut.part * kColumns; }

// Returns the size of the scratch memory. It begins with the sums. After them, a widened format has
// the words of a part of a group of columns and of kRows rows of x; any other format has what
// lay_out() needs.
template <typename Format>
int64_t scratch_bytes(const PackedWeight& weight) {
  const Cut cut = cut_of<Format>(weight);
  const int64_t sums = sum_words(cut) * kWordBytes;
  if constexpr (Format::kWidened)
    return sums + (widened_columns(cut) + kRows * copy_stride(cut.part)) * kWordBytes;
  return sums + panel_scratch_bytes<Format>(weight.in_features, cut.rows);
}

// The product of some rows of x and a block of 32 columns of W, over one part of the inner
// dimension.
struct BlockProduct {
  const float* x;
  int64_t stride;  // words from one row of x to the next
  const float* w;
  int64_t stripe;  // words from one stripe of W to the next
  int64_t words;   // words of the part
  float* sums;     // [rows][32]
};

// The number of words of the inner dimension from the multiplication to the prefetch. In a stripe
// this distance is 1 kB. The processor's own prefetches from the second-level cache come too late
// for two units for multiply-adds.
constexpr int64_t kAhead = 256 / kStripe;

// Computes a block with a constant number of rows. If `first` is true, the sums begin at zero.
template <typename Words, bool first, int64_t rows>
[[gnu::noinline]] void multiply_rows(const BlockProduct& block) {
  const BlockShape shape = {.k = block.words, .lda = block.stride, .ldb = kStripe, .ldc = kColumns};
  for (int64_t n = 0; n < kColumns; n += kStripe) {
    multiply_block<Words, rows, kProductVectors, first, false, kAhead>(
        shape, {block.x, block.w + n / kStripe * block.stripe, block.sums + n, kWide});
  }
}

// Computes a block with `rows` rows, from 1 to `most`.
template <typename Words, bool first, int64_t most = kRows>
void multiply_rows(const BlockProduct& block, int64_t rows) {
  if constexpr (most > 1) {
    if (rows < most) return multiply_rows<Words, first, most - 1>(block, rows);
  }
  multiply_rows<Words, first, most>(block);
}

// Multiplies a panel with W, a group of columns at a time. Part by part of the inner dimension,
// kRows rows of x are multiplied with all blocks of columns of the group, so that these rows stay
// in the first-level cache and the group in the second-level cache. The last part turns the sums
// into results.
template <typename Format, Epilogue epilogue>
class PanelProduct {
  using T = typename Format::Element;

 public:
  // `scratch` begins with the sums; the words of a widened format follow.
  PanelProduct(const PackedWeight& weight, const Linear<T>& call, const Panel& panel,
               float* scratch)
      : weight_(weight),
        call_(call),
        panel_(panel),
        cut_(cut_of<Format>(weight)),
        block_bytes_(block_bytes<Format>(weight.in_features)),
        sums_(scratch),
        widened_(scratch + sum_words(cut_)) {}

  void run() const {
    const int64_t count = weight_.column_blocks();
    for (int64_t first = 0; first < count; first += cut_.group_blocks) {
      const int64_t end = first + cut_.group_blocks < count ? first + cut_.group_blocks : count;
      for (int64_t word = 0; word < cut_.depth; word += cut_.part) {
        const int64_t words = cut_.depth - word < cut_.part ? cut_.depth - word : cut_.part;
        run_part({.begin = first, .end = end}, {.begin = word, .end = word + words});
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

  // Multiplies all rows of the panel with one part of the columns of a group.
  void run_part(BlockRange group, BlockRange part) const {
    if constexpr (Format::kWidened) widen_columns(group, part);
    for (int64_t row = 0; row < panel_.rows; row += kRows) {
      const int64_t rows = panel_.rows - row < kRows ? panel_.rows - row : kRows;
      const BlockRows x = rows_at(row, rows, part);
      for (int64_t block = group.begin; block < group.end; ++block) {
        float* sums = sums_at(row, block - group.begin);
        multiply(columns_at(block, group, part), x, part, sums);
        if (part.end == cut_.depth) finish(block, x, sums);
      }
    }
  }

  const std::byte* packed(int64_t block) const { return weight_.data + block * block_bytes_; }
  float* widened_rows() const { return widened_ + widened_columns(cut_); }

  // Returns where the sums of one block are kept: kRows rows from `row`, columns of block `block`
  // of the group.
  float* sums_at(int64_t row, int64_t block) const {
    if (!in_parts(cut_.depth)) return sums_;
    return sums_ + (row / kRows * cut_.group_blocks + block) * kRows * kColumns;
  }

  // Converts a part of the blocks of a group to float32 words: [block][stripe][word][columns].
  void widen_columns(BlockRange group, BlockRange part) const {
    const int64_t words = (part.end - part.begin) * kStripe;
    float* to = widened_;
    for (int64_t block = group.begin; block < group.end; ++block) {
      const T* stripe = reinterpret_cast<const T*>(packed(block)) + part.begin * kStripe;
      for (int64_t n = 0; n < kColumns; n += kStripe, stripe += cut_.depth * kStripe, to += words) {
        for (int64_t i = 0; i < words; i += kLanes) store(load(stripe + i), to + i);
      }
    }
  }

  // Columns of W, from the first word of a part.
  struct Columns {
    const float* words;
    int64_t stripe;  // words from one stripe to the next
  };

  Columns columns_at(int64_t block, BlockRange group, BlockRange part) const {
    if constexpr (Format::kWidened) {
      const int64_t words = part.end - part.begin;
      return {widened_ + (block - group.begin) * words * kColumns, words * kStripe};
    }
    return {reinterpret_cast<const float*>(packed(block)) + part.begin * kStripe,
            cut_.depth * kStripe};
  }

  BlockRows rows_at(int64_t row, int64_t count, BlockRange part) const {
    if constexpr (Format::kWidened) {
      const int64_t words = part.end - part.begin;
      const int64_t stride = copy_stride(cut_.part);
      for (int64_t r = 0; r < count; ++r) {
        const T* from = call_.x + (panel_.first + row + r) * weight_.in_features + part.begin;
        float* to = widened_rows() + r * stride;
        for (int64_t i = 0; i < words; i += kLanes) store(load_lanes(from + i, words - i), to + i);
      }
      return {widened_rows(), stride, row, count};
    }
    return {panel_.words + row * panel_.stride + part.begin, panel_.stride, row, count};
  }

  static void multiply(const Columns& columns, const BlockRows& x, BlockRange part, float* sums) {
    using Words = typename Format::Words;
    const BlockProduct block = {.x = x.words,
                                .stride = x.stride,
                                .w = columns.words,
                                .stripe = columns.stripe,
                                .words = part.end - part.begin,
                                .sums = sums};
    if (part.begin == 0) {
      multiply_rows<Words, true>(block, x.count);
    } else {
      multiply_rows<Words, false>(block, x.count);
    }
  }

  // Turns the sums of a block into results.
  void finish(int64_t block, const BlockRows& x, const float* sums) const {
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
  Cut cut_;
  int64_t block_bytes_;
  float* sums_;
  float* widened_;  // in a widened format: words of columns of W, then words of rows of x
};

template <typename Format>
void linear(const PackedWeight& weight, const Linear<typename Format::Element>& call,
            std::byte* scratch) {
  const Cut cut = cut_of<Format>(weight);
  const int64_t most = cut.rows > 0 ? cut.rows : call.rows;
  auto* words = reinterpret_cast<float*>(scratch);
  auto* laid_out = reinterpret_cast<std::byte*>(words + sum_words(cut));
  for (int64_t first = 0; first < call.rows; first += most) {
    const int64_t rows = call.rows - first < most ? call.rows - first : most;
    const Panel panel = lay_out<Format>(
        call.x, weight.in_features,
        {.words = nullptr, .stride = 0, .scales = nullptr, .first = first, .rows = rows}, laid_out);
    with_epilogue(call.epilogue, [&]<Epilogue epilogue>() {
      PanelProduct<Format, epilogue>(weight, call, panel, words).run();
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
