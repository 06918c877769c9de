#include "nn/cuda/cuda_attention.h"

#include <algorithm>
#include <limits>

#include <ATen/TensorIndexing.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include "nn/cuda/cuda_device.h"
#include "nn/cuda/cuda_kernels.h"
#include "nn/round_up.h"

namespace encode {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// LibTorch's kernels for 16-bit types need a head_dim that is a multiple of 16 bytes, which is 8
// numbers.
constexpr int64_t kHalfLane = 8;
// FlashAttention-2 has no kernel for a larger head_dim.
constexpr int64_t kMaxFlashHeadDim = 256;

bool is_half(const at::Tensor& tensor) { return tensor.scalar_type() != at::kFloat; }

// Runs FlashAttention-2 for the sequences of `cu_seqlens`, which are the first ones of the batch.
// Returns [T, heads, head_dim]; the rows of the other tokens have no defined values.
at::Tensor flash(const AttentionInput& input, const PackedInput& batch,
                 const at::Tensor& cu_seqlens, const AttentionOptions& options) {
  const AttentionWindow& window = options.window;
  // If one side of the window is at least as long as the longest sequence, the kernel ignores that
  // side and adds in another order. The bits of a sequence would then depend on the other sequences
  // of the batch. Therefore the kernel gets a longest length that is always greater than the
  // window.
  const int64_t longest = std::max({batch.max_seqlen, window.left + 1, window.right + 1});
  const auto result = at::_flash_attention_forward(
      input.query, input.key, input.value, cu_seqlens, cu_seqlens, longest, longest,
      /*dropout_p=*/0.0, /*is_causal=*/window.right == 0, /*return_debug_mask=*/false,
      options.scale, window.left, window.right);
  return std::get<0>(result);
}

// Where the short sequences of a batch are (ShortSequences). pack() puts long sequences before
// short ones, and then the two ranges do not overlap.
struct ByLength {
  int64_t last_long = -1;
  int64_t first_short = 0;  // the number of sequences if none is short
  int64_t longest_short = 0;
};

ByLength by_length(const PackedInput& batch, int64_t most_short_tokens) {
  ByLength found = {.first_short = batch.sequences()};
  for (int64_t b = batch.sequences() - 1; b >= 0; --b) {
    const auto at = static_cast<size_t>(b);
    const int64_t length = batch.cu_seqlens[at + 1] - batch.cu_seqlens[at];
    if (length > most_short_tokens) {
      found.last_long = std::max(found.last_long, b);
    } else {
      found.first_short = b;
      found.longest_short = std::max(found.longest_short, length);
    }
  }
  return found;
}

// Computes attention without relative positions for 16-bit types. The plugin's kernel computes the
// short sequences, if it can, and FlashAttention-2 the others. The length of a sequence alone
// decides, so its bits do not depend on the batch.
at::Tensor attend_half(const AttentionInput& input, const PackedInput& batch,
                       const AttentionOptions& options) {
  const at::Tensor& query = input.query;
  const at::Tensor& ends = batch.cu_seqlens_device;
  const int64_t short_tokens = cuda_kernels().most_short_tokens(query.scalar_type(), query.size(2));
  if (short_tokens > 0) {
    const ByLength found = by_length(batch, short_tokens);
    if (found.first_short == batch.sequences()) return flash(input, batch, ends, options);
    const at::Tensor y = found.last_long < 0
                             ? at::empty(query.sizes(), query.options())
                             : flash(input, batch, ends.narrow(0, 0, found.last_long + 2), options);
    const ShortSequences rest = {
        .cu_seqlens = ends.narrow(0, found.first_short, ends.size(0) - found.first_short),
        .longest = found.longest_short};
    // This comes after FlashAttention-2, which may have written rows of short sequences, too.
    if (cuda_kernels().attend_short(input, rest, options, y)) return y;
  }
  return flash(input, batch, ends, options);
}

// Repeats key or value heads, because the memory-efficient kernel needs as many key and value heads
// as query heads.
at::Tensor repeat_heads(const at::Tensor& packed, int64_t heads) {
  const int64_t groups = heads / packed.size(1);
  if (groups == 1) return packed;
  return packed.unsqueeze(2)
      .expand({packed.size(0), packed.size(1), groups, packed.size(2)})
      .flatten(1, 2);
}

// Calls LibTorch's memory-efficient kernel (Rabe & Staats 2021). `bias` is the result of
// pair_bias() or undefined.
at::Tensor efficient(const AttentionInput& input, const PackedInput& batch,
                     const AttentionOptions& options, const at::Tensor& bias) {
  constexpr int64_t kNoMask = 0;
  constexpr int64_t kCausalFromTopLeft = 1;
  const int64_t heads = input.query.size(1);
  const bool causal = !bias.defined() && options.window.right == 0;
  const auto result = at::_efficient_attention_forward(
      input.query.unsqueeze(0), repeat_heads(input.key, heads).unsqueeze(0),
      repeat_heads(input.value, heads).unsqueeze(0),
      bias.defined() ? std::optional(bias) : std::nullopt, batch.cu_seqlens_device,
      batch.cu_seqlens_device, batch.max_seqlen, batch.max_seqlen, /*dropout_p=*/0.0,
      causal ? kCausalFromTopLeft : kNoMask, /*compute_log_sumexp=*/false, options.scale);
  return std::get<0>(result).squeeze(0);
}

// Returns the matrix [queries, keys] of the distances key - query.
at::Tensor distances(int64_t queries, int64_t keys, at::Device device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return at::arange(keys, options).unsqueeze(0).sub(at::arange(queries, options).unsqueeze(1));
}

void mask_window(at::Tensor& scores, const at::Tensor& distance, const AttentionWindow& window) {
  if (window.left >= 0) scores.masked_fill_(distance.lt(-window.left), kMinusInfinity);
  if (window.right >= 0) scores.masked_fill_(distance.gt(window.right), kMinusInfinity);
}

// Returns the column of each distance in the tables of `relative`, flattened.
at::Tensor columns_of(const RelativePositions& relative, const at::Tensor& distance) {
  const int64_t reach = relative.column_device.size(0) / 2;
  return relative.column_device.index_select(0, distance.clamp(-reach, reach).add(reach).flatten());
}

// The tables of RelativePositions, looked up for each pair of tokens of one sequence: [heads,
// length, length]. A tensor is undefined if there is nothing to add.
struct RelativeTerms {
  at::Tensor unscaled;  // of_query + of_key, added before scaling
  at::Tensor scaled;    // bias, added after scaling
};

RelativeTerms relative_terms(const RelativePositions& relative, const at::Tensor& distance,
                             int64_t begin, int64_t heads) {
  const int64_t length = distance.size(0);
  const at::Tensor column = columns_of(relative, distance).view({length, length});
  RelativeTerms terms;
  const auto add = [&terms](const at::Tensor& term) {
    terms.unscaled = terms.unscaled.defined() ? terms.unscaled.add(term) : term;
  };
  const auto of_token = [&](const at::Tensor& table) {  // [heads, length, P]
    return table.narrow(0, begin, length).transpose(0, 1).to(at::kFloat);
  };
  const auto every_head = [&](const at::Tensor& index) {
    return index.unsqueeze(0).expand({heads, length, length});
  };
  if (relative.of_query.defined()) add(of_token(relative.of_query).gather(2, every_head(column)));
  if (relative.of_key.defined())
    add(of_token(relative.of_key).gather(2, every_head(column.t())).transpose(1, 2));
  if (relative.bias.defined()) terms.scaled = relative.bias.index({at::indexing::Slice(), column});
  return terms;
}

// Extends each head with zeros to a multiple of kHalfLane numbers. Zeros at the end of a head
// change neither the scores nor the other numbers of the result.
AttentionInput pad_heads(const AttentionInput& input) {
  const int64_t head_dim = input.query.size(2);
  const int64_t missing = round_up(head_dim, kHalfLane) - head_dim;
  const auto padded = [missing](const at::Tensor& packed) {
    return at::constant_pad_nd(packed, {0, missing});
  };
  return {.query = padded(input.query), .key = padded(input.key), .value = padded(input.value)};
}

// Chooses the kernel and runs it. Returns [T, heads, head_dim].
at::Tensor attend(const AttentionInput& input, const PackedInput& batch,
                  const AttentionOptions& options) {
  const RelativePositions* relative = options.relative;
  const bool of_tokens =
      relative != nullptr && (relative->of_query.defined() || relative->of_key.defined());
  if (options.softcap > 0 || of_tokens) {
    const at::Tensor out = at::empty(input.query.sizes(), input.query.options());
    return cuda_kernels().attend(input, batch, options, out)
               ? out
               : attention_by_products(input, batch, options);
  }
  const int64_t head_dim = input.query.size(2);
  if (is_half(input.query) && head_dim % kHalfLane != 0)
    return attend(pad_heads(input), batch, options).narrow(2, 0, head_dim);
  if (relative == nullptr && is_half(input.query) && head_dim <= kMaxFlashHeadDim &&
      supports_flash_attention(input.query.device())) {
    return attend_half(input, batch, options);
  }
  const AttentionWindow& window = options.window;
  const bool causal_or_all = window.left < 0 && window.right <= 0;
  if (relative == nullptr && causal_or_all) return efficient(input, batch, options, {});
  if (relative != nullptr && relative->pairs.defined())
    return efficient(input, batch, options, relative->pairs);
  const PairShape shape = {.tokens = input.query.size(0), .heads = input.query.size(1)};
  return efficient(input, batch, options, pair_bias(options, batch, shape, input.query.options()));
}

}  // namespace

// The memory-efficient kernel takes one matrix of biases for each sequence and head. Here all
// sequences share one matrix for each head, because a bias depends only on the distance. The kernel
// also requires matrices with the size of the whole batch. Therefore the result is a view with this
// size, and its rows beyond the longest sequence are memory that the kernel does not read.
at::Tensor pair_bias(const AttentionOptions& options, const PackedInput& batch,
                     const PairShape& shape, const at::TensorOptions& tensor) {
  // The number of elements in a row of biases is a multiple of this number, because the kernel
  // reads rows in vectors of 16 bytes.
  constexpr int64_t kRowStep = 16;
  const int64_t length = batch.max_seqlen;
  const int64_t width = round_up(length, kRowStep);
  const auto [tokens, heads] = shape;
  const RelativePositions* relative = options.relative;
  const int64_t matrices = relative != nullptr ? heads : 1;
  const int64_t beyond = tokens + tokens / width + 1;  // rows that the view may reach
  const at::Tensor room = at::empty({matrices * length + beyond, width}, tensor);
  at::Tensor pairs = room.narrow(0, 0, matrices * length).view({matrices, length, width});
  const at::Tensor distance = distances(length, width, tensor.device());
  if (relative != nullptr) {
    const at::Tensor column = columns_of(*relative, distance);
    // The heads are computed one by one, because the float32 values of all heads would need several
    // times the memory of the result.
    for (int64_t head = 0; head < heads; ++head) {
      pairs.select(0, head).copy_(
          relative->bias.select(0, head).index_select(0, column).view({length, width}));
    }
  } else {
    pairs.zero_();
  }
  mask_window(pairs, distance, options.window);
  const int64_t head_stride = relative != nullptr ? length * width : 0;
  return room.as_strided({1, heads, tokens, tokens}, {0, head_stride, width, 1});
}

at::Tensor attention_by_products(const AttentionInput& input, const PackedInput& batch,
                                 const AttentionOptions& options) {
  const int64_t heads = input.query.size(1);
  at::Tensor out = at::zeros(input.query.sizes(), input.query.options());
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(b)];
    const int64_t length = batch.cu_seqlens[static_cast<size_t>(b) + 1] - begin;
    const auto heads_first = [&](const at::Tensor& packed) {
      return packed.narrow(0, begin, length)
          .transpose(0, 1)
          .to(at::kFloat)
          .repeat_interleave(heads / packed.size(1), 0);
    };
    const at::Tensor distance = distances(length, length, input.query.device());
    at::Tensor scores = at::bmm(heads_first(input.query), heads_first(input.key).transpose(1, 2));
    const RelativeTerms terms = options.relative != nullptr
                                    ? relative_terms(*options.relative, distance, begin, heads)
                                    : RelativeTerms{};
    if (terms.unscaled.defined()) scores.add_(terms.unscaled);
    scores.mul_(options.scale);
    if (options.softcap > 0) scores = scores.div_(options.softcap).tanh_().mul_(options.softcap);
    if (terms.scaled.defined()) scores.add_(terms.scaled);
    mask_window(scores, distance, options.window);
    const at::Tensor attended = at::bmm(at::softmax(scores, -1), heads_first(input.value));
    out.narrow(0, begin, length).copy_(attended.transpose(0, 1));
  }
  return out;
}

at::Tensor attention_cuda(const AttentionInput& input, const PackedInput& batch,
                          const AttentionOptions& options) {
  return attend(input, batch, options).flatten(1);
}

}  // namespace encode
