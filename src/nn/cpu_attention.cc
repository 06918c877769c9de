#include "nn/cpu_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <ATen/native/CPUBlas.h>
#include <ATen/ops/empty.h>

#include "nn/cpu_rows.h"

namespace encode {
namespace {

using kernels::BFloat16;

// Rows of one product: enough to use a loaded block of keys well, few enough that the scores of
// long sequences stay in cache.
constexpr int64_t kQueryBlock = 32;
// Products are rounded up to whole tiles: fewer shapes, and so fewer kernels that the library must
// generate.
constexpr int64_t kQueryTile = 16;
constexpr int64_t kKeyTile = 32;
constexpr int64_t kKeyBlock = 512;

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
constexpr int64_t round_down(int64_t n, int64_t to) { return n / to * to; }

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

Range seen_by(int64_t query, const AttentionWindow& window, int64_t length) {
  return {window.left < 0 ? 0 : std::max<int64_t>(0, query - window.left),
          window.right < 0 ? length : std::min(length, query + window.right + 1)};
}

// Working memory that is never cleared.
template <typename T>
class Buffer {
 public:
  explicit Buffer(int64_t size)
      : data_(std::make_unique_for_overwrite<T[]>(static_cast<size_t>(size))) {}
  T* get() const { return data_.get(); }

 private:
  std::unique_ptr<T[]> data_;
};

// One head of a packed projection from some token on.
template <typename T>
struct HeadRows {
  const T* first;
  int64_t stride;

  HeadRows(const at::Tensor& packed, int64_t token, int64_t head)
      : first(rows_of<const T>(packed) + token * packed.stride(0) + head * packed.stride(1)),
        stride(packed.stride(0)) {}
  const T* row(int64_t i) const { return first + i * stride; }
};

// The keys of one head side by side, [head_dim, columns]; the columns beyond `count` are zero.
template <typename Word>
struct PackedKeys {
  Word* data;
  int64_t count;
  int64_t head_dim;
  int64_t columns;
};

template <typename Word>
void transpose(const Word* rows, int64_t stride, const PackedKeys<Word>& to) {
  constexpr int64_t kBlock = 16;
  for (int64_t r0 = 0; r0 < to.columns; r0 += kBlock) {
    const int64_t filled = std::clamp<int64_t>(to.count - r0, 0, kBlock);
    for (int64_t c = 0; c < to.head_dim; ++c) {
      Word* out = to.data + c * to.columns + r0;
      for (int64_t r = 0; r < filled; ++r) out[r] = rows[(r0 + r) * stride + c];
      std::fill(out + filled, out + kBlock, Word{});
    }
  }
}

// How rows in T become operands of float32 products.
template <typename T>
struct FloatOperands {
  using Operand = float;

  static void copy(const HeadRows<T>& rows, int64_t count, int64_t head_dim, float* to) {
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        std::copy_n(rows.row(i), head_dim, to + i * head_dim);
      } else {
        kernels::kernels().rows<T>().widen(rows.row(i), head_dim, to + i * head_dim);
      }
    }
  }
  static void pack_keys(const HeadRows<T>& rows, const PackedKeys<float>& to, float* room) {
    if constexpr (std::is_same_v<T, float>) {
      transpose(rows.first, rows.stride, to);
    } else {
      copy(rows, to.count, to.head_dim, room);
      transpose(room, to.head_dim, to);
    }
  }
  static const float* pack_values(const float* rows, int64_t /*padded*/, int64_t /*head_dim*/,
                                  float* /*to*/) {
    return rows;
  }
  static float* probabilities(float* scores, int64_t /*size*/, float* /*room*/) { return scores; }
  static constexpr bool kPairs = false;
};

// bfloat16 operands, two consecutive values of the inner dimension side by side (VNNI), which is
// what AMX multiplies.
struct PairedOperands {
  using Operand = BFloat16;

  static void copy(const HeadRows<BFloat16>& rows, int64_t count, int64_t head_dim, BFloat16* to) {
    for (int64_t i = 0; i < count; ++i) std::copy_n(rows.row(i), head_dim, to + i * head_dim);
  }
  // Through `room`: rows of the fused projection need not start at a multiple of four bytes.
  static void pack_keys(const HeadRows<BFloat16>& rows, const PackedKeys<BFloat16>& to,
                        BFloat16* room) {
    copy(rows, to.count, to.head_dim, room);
    transpose<uint32_t>(
        reinterpret_cast<const uint32_t*>(room), to.head_dim / 2,
        {reinterpret_cast<uint32_t*>(to.data), to.count, to.head_dim / 2, to.columns});
  }
  static const BFloat16* pack_values(const BFloat16* rows, int64_t padded, int64_t head_dim,
                                     BFloat16* to) {
    for (int64_t i = 0; i < padded; i += 2) {
      const BFloat16* even = rows + i * head_dim;
      for (int64_t d = 0; d < head_dim; ++d) {
        to[i * head_dim + 2 * d] = even[d];
        to[i * head_dim + 2 * d + 1] = even[head_dim + d];
      }
    }
    return to;
  }
  static BFloat16* probabilities(float* scores, int64_t size, BFloat16* room) {
    kernels::kernels().bfloat16.scale(scores, size, 1.0F, room);
    return room;
  }
  static constexpr bool kPairs = true;
};

struct Product {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t lda;
  int64_t ldb;
  int64_t ldc;
  bool add;
};

void multiply(const Product& p, const float* a, const float* b, float* c) {
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.add, a, b, c, false);
}

void multiply(const Product& p, const BFloat16* a, const BFloat16* b, float* c) {
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.add,
                              reinterpret_cast<const at::BFloat16*>(a),
                              reinterpret_cast<const at::BFloat16*>(b), c, true);
}

template <typename T, typename Operands>
class CpuAttention {
  using Operand = typename Operands::Operand;

 public:
  CpuAttention(const AttentionInput& input, const AttentionOptions& options, int64_t longest)
      : input_(input),
        options_(options),
        head_dim_(input.query.size(2)),
        group_(input.query.size(1) / input.key.size(1)),
        rows_(round_up(longest, kKeyTile) * head_dim_),
        keys_(round_up(longest, kKeyTile) * head_dim_),
        values_(round_up(longest, kKeyTile) * head_dim_),
        queries_(kQueryBlock * head_dim_),
        scores_(kQueryBlock * round_up(longest, kKeyTile)),
        probabilities_(Operands::kPairs ? kQueryBlock * round_up(longest, kKeyTile) : 0),
        attended_(kQueryBlock * head_dim_) {}

  void run(const PackedInput& batch, at::Tensor& out) {
    for (int64_t b = 0; b < batch.sequences(); ++b) {
      begin_ = batch.cu_seqlens[static_cast<size_t>(b)];
      length_ = batch.cu_seqlens[static_cast<size_t>(b) + 1] - begin_;
      columns_ = round_up(length_, kKeyTile);
      for (int64_t head = 0; head < input_.key.size(1); ++head) {
        pack(head);
        for (int64_t i = 0; i < group_; ++i) attend(head * group_ + i, out);
      }
    }
  }

 private:
  void pack(int64_t head) {
    Operand* rows = rows_.get();
    Operands::pack_keys(HeadRows<T>(input_.key, begin_, head),
                        {keys_.get(), length_, head_dim_, columns_}, rows);
    Operands::copy(HeadRows<T>(input_.value, begin_, head), length_, head_dim_, rows);
    std::fill(rows + length_ * head_dim_, rows + columns_ * head_dim_, Operand{});
    packed_values_ = Operands::pack_values(rows, columns_, head_dim_, values_.get());
  }

  void attend(int64_t head, at::Tensor& out) {
    for (int64_t first = 0; first < length_; first += kQueryBlock) {
      const int64_t count = std::min(kQueryBlock, length_ - first);
      Range keys = {seen_by(first, options_.window, length_).begin,
                    seen_by(first + count - 1, options_.window, length_).end};
      keys = {round_down(keys.begin, kKeyTile), round_up(keys.end, kKeyTile)};
      score(head, {first, first + count}, keys);
      for (int64_t i = 0; i < count; ++i) soften(head, first + i, keys, i);
      average(round_up(count, kQueryTile), keys);
      store(head, {first, first + count}, out);
    }
  }

  // scores = queries x keys, unscaled.
  void score(int64_t head, Range queries, Range keys) {
    const int64_t count = queries.size();
    const int64_t padded = round_up(count, kQueryTile);
    Operands::copy(HeadRows<T>(input_.query, begin_ + queries.begin, head), count, head_dim_,
                   queries_.get());
    std::fill(queries_.get() + count * head_dim_, queries_.get() + padded * head_dim_, Operand{});
    constexpr int64_t kStep = Operands::kPairs ? 2 : 1;
    for (int64_t j = keys.begin; j < keys.end; j += kKeyBlock) {
      const Product product = {.m = padded,
                               .n = std::min(kKeyBlock, keys.end - j),
                               .k = head_dim_,
                               .lda = head_dim_,
                               .ldb = columns_,
                               .ldc = keys.size(),
                               .add = false};
      multiply(product, queries_.get(), keys_.get() + j * kStep, scores_.get() + (j - keys.begin));
    }
  }

  // One row of scores -> unnormalized probabilities, zero outside the window.
  void soften(int64_t head, int64_t query, Range keys, int64_t i) {
    float* row = scores_.get() + i * keys.size();
    Range seen = seen_by(query, options_.window, length_);
    seen = {seen.begin - keys.begin, seen.end - keys.begin};
    auto scale = static_cast<float>(options_.scale);
    if (options_.softcap > 0 || options_.relative != nullptr) {
      for (int64_t j = seen.begin; j < seen.end; ++j)
        row[j] = adjusted(row[j], head, query, keys.begin + j);
      scale = 1;
    }
    sums_[i] =
        kernels::kernels().exp_scores(row + seen.begin, seen.size(), scale, row + seen.begin);
    std::fill(row, row + seen.begin, 0.0F);
    std::fill(row + seen.end, row + keys.size(), 0.0F);
  }

  float adjusted(float score, int64_t head, int64_t query, int64_t key) const {
    const RelativePositions* relative = options_.relative;
    int64_t column = 0;
    if (relative != nullptr) {
      const auto reach = static_cast<int64_t>(relative->column.size() / 2);
      column =
          relative->column[static_cast<size_t>(std::clamp(key - query, -reach, reach) + reach)];
      if (relative->of_query.defined()) score += table(relative->of_query, query, head, column);
      if (relative->of_key.defined()) score += table(relative->of_key, key, head, column);
    }
    score *= static_cast<float>(options_.scale);
    if (options_.softcap > 0) {
      const auto cap = static_cast<float>(options_.softcap);
      score = cap * std::tanh(score / cap);
    }
    if (relative != nullptr && relative->bias.defined())
      score += relative->bias.const_data_ptr<float>()[head * relative->bias.stride(0) + column];
    return score;
  }

  float table(const at::Tensor& terms, int64_t token, int64_t head, int64_t column) const {
    float value = 0;
    kernels::kernels().rows<T>().widen(HeadRows<T>(terms, begin_ + token, head).first + column, 1,
                                       &value);
    return value;
  }

  // attended = probabilities x values.
  void average(int64_t padded, Range keys) {
    const Operand* weights =
        Operands::probabilities(scores_.get(), padded * keys.size(), probabilities_.get());
    for (int64_t j = keys.begin; j < keys.end; j += kKeyBlock) {
      const Product product = {.m = padded,
                               .n = head_dim_,
                               .k = std::min(kKeyBlock, keys.end - j),
                               .lda = keys.size(),
                               .ldb = head_dim_,
                               .ldc = head_dim_,
                               .add = j != keys.begin};
      multiply(product, weights + (j - keys.begin), packed_values_ + j * head_dim_,
               attended_.get());
    }
  }

  void store(int64_t head, Range queries, at::Tensor& out) {
    const auto scale = kernels::kernels().rows<T>().scale;
    const int64_t width = out.stride(0);
    T* to = rows_of<T>(out) + (begin_ + queries.begin) * width + head * head_dim_;
    for (int64_t i = 0; i < queries.size(); ++i)
      scale(attended_.get() + i * head_dim_, head_dim_, 1.0F / sums_[i], to + i * width);
  }

  const AttentionInput& input_;
  const AttentionOptions& options_;
  int64_t head_dim_;
  int64_t group_;
  Buffer<Operand> rows_;  // [longest, head_dim]: keys, then values, as they come
  Buffer<Operand> keys_;  // [head_dim, columns_]
  Buffer<Operand> values_;
  const Operand* packed_values_ = nullptr;  // [columns_, head_dim], in rows_ or values_
  Buffer<Operand> queries_;
  Buffer<float> scores_;  // [query block, keys seen]
  Buffer<Operand> probabilities_;
  Buffer<float> attended_;
  float sums_[kQueryBlock] = {};
  int64_t begin_ = 0;    // of the sequence at hand, in tokens
  int64_t length_ = 0;   // of it
  int64_t columns_ = 0;  // its length in whole tiles
};

// The library keeps the tiles of its last product configured and remembers that it did; our own
// products configure them anew, so it must forget.
struct TileRelease {
  ~TileRelease() { at::native::cpublas::brgemm_release(true); }
};

template <typename T, typename Operands>
void attend_all(const AttentionInput& input, const PackedInput& batch,
                const AttentionOptions& options, at::Tensor& out) {
  [[maybe_unused]] std::conditional_t<Operands::kPairs, TileRelease, std::monostate> release;
  CpuAttention<T, Operands>(input, options, batch.max_seqlen).run(batch, out);
}

}  // namespace

at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options) {
  const int64_t tokens = input.query.size(0);
  const int64_t width = input.query.size(1) * input.query.size(2);
  at::Tensor out = at::empty({tokens, width}, input.query.options());
  const int64_t used = batch.cu_seqlens.back();
  if (used < tokens) out.narrow(0, used, tokens - used).zero_();
  const bool pairs = input.query.scalar_type() == at::kBFloat16 && input.query.size(2) % 2 == 0 &&
                     at::native::cpublas::could_pack(at::kBFloat16);
  if (pairs) {
    attend_all<BFloat16, PairedOperands>(input, batch, options, out);
  } else {
    with_row_type(input.query.scalar_type(), [&](auto type) {
      attend_all<decltype(type), FloatOperands<decltype(type)>>(input, batch, options, out);
    });
  }
  return out;
}

}  // namespace encode
