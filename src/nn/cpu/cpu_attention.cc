#include "nn/cpu/cpu_attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include <ATen/ops/empty.h>

#include "kernels/kernels.h"
#include "nn/cpu/attention_operands.h"
#include "nn/cpu/rows.h"
#include "nn/round_up.h"

namespace encode {
namespace {

using cpu_attention::FloatOperands;
using cpu_attention::HeadRows;
using cpu_attention::PairedOperands;

constexpr int64_t kQueryBlock = kernels::kAttentionQueryBlock;

constexpr int64_t round_down(int64_t n, int64_t to) { return n / to * to; }

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// Returns the range of keys that a query sees.
Range seen_by(int64_t query, const AttentionWindow& window, int64_t length) {
  return {window.left < 0 ? 0 : std::max<int64_t>(0, query - window.left),
          window.right < 0 ? length : std::min(length, query + window.right + 1)};
}

// Working memory, which is not initialized.
template <typename T>
class Buffer {
 public:
  explicit Buffer(int64_t size)
      : data_(std::make_unique_for_overwrite<T[]>(static_cast<size_t>(size))) {}
  T* get() const { return data_.get(); }

 private:
  std::unique_ptr<T[]> data_;
};

// Computes the attention of one batch. T is the type of the queries, keys and values. Out is the
// type of the result and of the tables of RelativePositions.
//
// For each head, the keys are transposed and the values are packed once. Then each block of
// kQueryBlock queries is multiplied with all the keys that these queries see. The scores become
// weights, in place or in weights_room_, and the weights are multiplied with the values. At the end
// each row of the result is multiplied by the reciprocal of the sum of its weights.
//
// Zeros fill up queries and keys to whole tiles (kQueryTile, kKeyTile). A weight outside the window
// of its query is zero. A score is one chain of multiply-adds over head_dim, and an element of the
// result is one chain over the keys, so the order of these sums is fixed. On AMX tiles the
// instruction TDPBF16PS defines the order of its own additions.
template <typename T, typename Out, typename Operands>
class CpuAttention {
  using Operand = typename Operands::Operand;
  static constexpr int64_t kQueryTile = Operands::kQueryTile;
  static constexpr int64_t kKeyTile = Operands::kKeyTile;

 public:
  CpuAttention(const AttentionInput& input, const AttentionOptions& options, int64_t longest)
      : input_(input),
        options_(options),
        head_dim_(input.query.size(2)),
        group_(input.query.size(1) / input.key.size(1)),
        room_(round_up(longest, kKeyTile) * head_dim_),
        keys_(round_up(longest, kKeyTile) * head_dim_),
        values_(round_up(longest, kKeyTile) * head_dim_),
        queries_(kQueryBlock * head_dim_),
        scores_(kQueryBlock * round_up(longest, kKeyTile)),
        weights_room_(Operands::weights_room(kQueryBlock * round_up(longest, kKeyTile))),
        bias_(has_bias(options) ? 2 * longest : 0),
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
  template <typename Element = T>
  HeadRows<Element> rows(const at::Tensor& packed, int64_t head, Range tokens) const {
    return HeadRows<Element>::of(packed, head, begin_ + tokens.begin, begin_ + tokens.end);
  }

  void pack(int64_t head) {
    const Range all = {0, length_};
    const auto keys = cpu_attention::as_operands(rows(input_.key, head, all), room_.get());
    cpu_attention::transpose(cpu_attention::words_of(keys), columns_, keys_.get());
    Operands::pack_values(rows(input_.value, head, all), columns_, values_.get());
  }

  void attend(int64_t head, at::Tensor& out) {
    if (has_bias(options_)) lay_out_bias(head);
    for (int64_t first = 0; first < length_; first += kQueryBlock) {
      const Range queries = {first, std::min(first + kQueryBlock, length_)};
      Range keys = {seen_by(first, options_.window, length_).begin,
                    seen_by(queries.end - 1, options_.window, length_).end};
      keys = {round_down(keys.begin, kKeyTile), round_up(keys.end, kKeyTile)};
      score(head, queries, keys);
      for (int64_t i = 0; i < queries.size(); ++i) soften(head, first + i, keys, i);
      average(queries, keys);
      store(head, queries, out);
    }
  }

  // Computes the scores = queries x keys, without the scale.
  void score(int64_t head, Range queries, Range keys) {
    const int64_t padded = round_up(queries.size(), kQueryTile);
    HeadRows<Operand> a =
        cpu_attention::as_operands(rows(input_.query, head, queries), queries_.get());
    if (a.count < padded) a = cpu_attention::pad_rows(a, padded, queries_.get());
    Operands::multiply({.m = padded,
                        .n = keys.size(),
                        .k = head_dim_,
                        .lda = a.stride,
                        .ldb = columns_,
                        .ldc = keys.size()},
                       a.first, keys_.get() + keys.begin * Operands::kPacked, scores_.get());
  }

  // Turns row i of the scores into weights. The weights are not yet divided by their sum, and they
  // are zero outside the window.
  void soften(int64_t head, int64_t query, Range keys, int64_t i) {
    float* row = scores_.get() + i * keys.size();
    Range seen = seen_by(query, options_.window, length_);
    seen = {seen.begin - keys.begin, seen.end - keys.begin};
    auto scale = static_cast<float>(options_.scale);
    if (options_.softcap > 0 || options_.relative != nullptr) {
      adjust({.scores = row, .head = head, .query = query, .first_key = keys.begin}, seen);
      scale = 1;
    }
    Operand* weights = weights_of(i, keys);
    sums_[i] = Operands::exp_scores(row + seen.begin, seen.size(), scale, weights + seen.begin);
    std::fill(weights, weights + seen.begin, Operand{});
    std::fill(weights + seen.end, weights + keys.size(), Operand{});
  }

  Operand* weights_of(int64_t i, Range keys) const {
    return Operands::weights(scores_.get(), weights_room_.get()) + i * keys.size();
  }

  static bool has_bias(const AttentionOptions& options) {
    return options.relative != nullptr && options.relative->bias.defined();
  }

  // Returns the column of a distance in the tables of RelativePositions.
  int64_t column(int64_t distance) const {
    const std::vector<int32_t>& columns = options_.relative->column;
    const auto reach = static_cast<int64_t>(columns.size() / 2);
    return columns[static_cast<size_t>(std::clamp(distance, -reach, reach) + reach)];
  }

  // Fills bias_[length_ + distance] for every distance in the sequence.
  void lay_out_bias(int64_t head) {
    const at::Tensor& bias = options_.relative->bias;
    const float* of_head = bias.const_data_ptr<float>() + head * bias.stride(0);
    for (int64_t distance = 1 - length_; distance < length_; ++distance)
      bias_.get()[length_ + distance] = of_head[column(distance)];
  }

  // A row of scores: the scores of one query with the keys from `first_key` on.
  struct ScoreRow {
    float* scores;
    int64_t head;
    int64_t query;
    int64_t first_key;
  };

  // Applies scale, softcap and RelativePositions to the scores of the keys in `seen`.
  void adjust(const ScoreRow& place, Range seen) const {
    const RelativePositions* relative = options_.relative;
    float* row = place.scores;
    if (relative != nullptr) {
      add_terms(relative->of_query, place.query, place, seen);
      add_terms(relative->of_key, -1, place, seen);
    }
    const auto scale = static_cast<float>(options_.scale);
    for (int64_t j = seen.begin; j < seen.end; ++j) row[j] *= scale;
    if (options_.softcap > 0) {
      const auto cap = static_cast<float>(options_.softcap);
      for (int64_t j = seen.begin; j < seen.end; ++j) row[j] = cap * std::tanh(row[j] / cap);
    }
    if (!has_bias(options_)) return;
    const float* bias = bias_.get() + length_ + place.first_key - place.query;
    for (int64_t j = seen.begin; j < seen.end; ++j) row[j] += bias[j];
  }

  // Adds the entries of a table of_query or of_key to the scores. The entries are in the row of
  // `token`. If `token` is -1, the entry for a key is in the row of this key.
  void add_terms(const at::Tensor& terms, int64_t token, const ScoreRow& place, Range seen) const {
    if (!terms.defined()) return;
    for (int64_t j = seen.begin; j < seen.end; ++j) {
      const int64_t key = place.first_key + j;
      place.scores[j] +=
          term(terms, token < 0 ? key : token, place.head, column(key - place.query));
    }
  }

  float term(const at::Tensor& terms, int64_t token, int64_t head, int64_t at) const {
    const Out* value = rows<Out>(terms, head, {token, token + 1}).first + at;
    if constexpr (std::is_same_v<Out, float>) {
      return *value;
    } else {
      float wide = 0;
      kernels::kernels().rows<Out>().widen(value, 1, &wide);
      return wide;
    }
  }

  // Computes attended_ = weights x values, without the division by the sums of the weights.
  void average(Range queries, Range keys) {
    const int64_t padded = round_up(queries.size(), kQueryTile);
    std::fill(weights_of(queries.size(), keys), weights_of(padded, keys), Operand{});
    Operands::multiply({.m = padded,
                        .n = head_dim_,
                        .k = keys.size(),
                        .lda = keys.size(),
                        .ldb = head_dim_,
                        .ldc = head_dim_},
                       weights_of(0, keys), values_.get() + keys.begin * head_dim_,
                       attended_.get());
  }

  void store(int64_t head, Range queries, at::Tensor& out) {
    const auto scale = kernels::kernels().rows<Out>().scale;
    const int64_t width = out.stride(0);
    Out* to = rows_of<Out>(out) + (begin_ + queries.begin) * width + head * head_dim_;
    for (int64_t i = 0; i < queries.size(); ++i)
      scale(attended_.get() + i * head_dim_, head_dim_, 1.0F / sums_[i], to + i * width);
  }

  const AttentionInput& input_;
  const AttentionOptions& options_;
  int64_t head_dim_;
  int64_t group_;
  Buffer<Operand> room_;          // [longest, head_dim]: keys before they are transposed
  Buffer<Operand> keys_;          // [head_dim, columns_]
  Buffer<Operand> values_;        // [columns_, head_dim]
  Buffer<Operand> queries_;       // [kQueryBlock, head_dim]
  Buffer<float> scores_;          // [kQueryBlock, keys seen]
  Buffer<Operand> weights_room_;  // [kQueryBlock, keys seen], if weights do not replace scores
  Buffer<float> bias_;            // the bias of one head for each distance
  Buffer<float> attended_;        // [kQueryBlock, head_dim]
  float sums_[kQueryBlock] = {};  // the sum of the weights of each query
  int64_t begin_ = 0;             // first token of the current sequence
  int64_t length_ = 0;            // tokens of the current sequence
  int64_t columns_ = 0;           // length_ rounded up to whole tiles
};

template <typename T, typename Out, typename Operands>
void attend_all(const AttentionInput& input, const PackedInput& batch,
                const AttentionOptions& options, at::Tensor& out) {
  [[maybe_unused]] const typename Operands::Session session;
  CpuAttention<T, Out, Operands>(input, options, batch.max_seqlen).run(batch, out);
}

// Returns x [T, heads, head_dim] in bfloat16, which is x itself if x has this type.
at::Tensor in_bfloat16(const at::Tensor& x) {
  if (x.scalar_type() == at::kBFloat16) return x;
  at::Tensor rounded = at::empty(x.sizes(), x.options().dtype(at::kBFloat16));
  const auto scale = kernels::kernels().bfloat16.scale;
  const bool dense = x.stride(1) == x.size(2);
  const int64_t rows = dense ? 1 : x.size(1);  // the number of dense pieces of each token
  const int64_t width = x.size(1) * x.size(2) / rows;
  auto* to = rows_of<kernels::BFloat16>(rounded);
  for (int64_t token = 0; token < x.size(0); ++token) {
    const auto* from = rows_of<const float>(x) + token * x.stride(0);
    for (int64_t row = 0; row < rows; ++row, to += width)
      scale(from + row * x.stride(1), width, 1, to);
  }
  return rounded;
}

// Computes attention with bfloat16 operands. Returns false, and does nothing, if the processor has
// no instructions for pairs of bfloat16, or if head_dim is not a multiple of kKeyTile.
template <typename Out>
bool attend_in_pairs(const AttentionInput& input, const PackedInput& batch,
                     const AttentionOptions& options, at::Tensor& out) {
  using cpu_attention::PairedOperands;
  using cpu_attention::VectorPairs;
  if (input.query.size(2) % PairedOperands::kKeyTile != 0) return false;
  const auto attend = [&]<typename Operands>() {
    const AttentionInput rounded = {.query = in_bfloat16(input.query),
                                    .key = in_bfloat16(input.key),
                                    .value = in_bfloat16(input.value)};
    attend_all<kernels::BFloat16, Out, Operands>(rounded, batch, options, out);
    return true;
  };
#ifdef ENCODE_X86_64
  using cpu_attention::TilePairs;
  if (TilePairs::usable()) return attend.template operator()<TilePairs>();
#endif
  return VectorPairs::usable() && attend.template operator()<VectorPairs>();
}

}  // namespace

at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options) {
  const int64_t tokens = input.query.size(0);
  const int64_t width = input.query.size(1) * input.query.size(2);
  at::Tensor out = at::empty({tokens, width}, input.query.options());
  const int64_t used = batch.cu_seqlens.back();
  if (used < tokens) out.narrow(0, used, tokens - used).zero_();
  with_row_type(input.query.scalar_type(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, kernels::BFloat16>) {
      if (attend_in_pairs<T>(input, batch, options, out)) return;
    }
    if constexpr (std::is_same_v<T, float>) {
      if (options.rounds_operands && attend_in_pairs<T>(input, batch, options, out)) return;
    }
    attend_all<T, T, FloatOperands>(input, batch, options, out);
  });
  return out;
}

}  // namespace encode
