// Compares the plugin's attention kernels with attention_by_products().
#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>

#include "nn/cuda/cuda_attention.h"
#include "nn/cuda/kernel_check.h"
#include "nn/cuda/plugin.h"

namespace encode {
namespace {

// The ends of the sequences. The lengths (1, 31, 33, 0, 100) are below and above the number of keys
// in a tile and the number of queries in a block.
constexpr int32_t kEnds[] = {0, 1, 32, 65, 65, 165};

PackedInput batch_on(at::Device device) {
  PackedInput batch;
  batch.cu_seqlens.assign(std::begin(kEnds), std::end(kEnds));
  batch.cu_seqlens_device = at::tensor(batch.cu_seqlens, at::kInt).to(device);
  batch.max_seqlen = 100;
  return batch;
}

// Returns positions that give each distance from -reach to reach a column of its own.
RelativePositions positions(KernelCheck& check, int64_t reach) {
  RelativePositions relative;
  relative.column_device =
      at::arange(2 * reach, -1, -1, at::TensorOptions().dtype(at::kLong)).to(check.device());
  return relative;
}

struct Result {
  bool ran;
  at::Tensor y;
  int64_t used;  // rows
};

struct Shape {
  int64_t heads;
  int64_t key_heads;
  int64_t head_dim;
};

// Returns random slices of one fused projection, as a model has them, with a few filler slots.
AttentionInput random_input(KernelCheck& check, const Shape& shape) {
  constexpr int64_t kFiller = 3;
  const int64_t tokens = kEnds[std::size(kEnds) - 1] + kFiller;
  const at::Tensor qkv = check.random({tokens, shape.heads + 2 * shape.key_heads, shape.head_dim});
  return {.query = qkv.narrow(1, 0, shape.heads),
          .key = qkv.narrow(1, shape.heads, shape.key_heads),
          .value = qkv.narrow(1, shape.heads + shape.key_heads, shape.key_heads)};
}

// Compares the first `used` rows of y.
void compare(KernelCheck& check, const AttentionInput& input, const AttentionOptions& options,
             const Result& found) {
  const AttentionInput wide = {.query = input.query.to(at::kFloat),
                               .key = input.key.to(at::kFloat),
                               .value = input.value.to(at::kFloat)};
  const at::Tensor expected = attention_by_products(wide, batch_on(check.device()), options);
  check.compare(found.ran, found.y.narrow(0, 0, found.used), expected.narrow(0, 0, found.used));
}

void compare(KernelCheck& check, const Shape& shape, AttentionOptions options) {
  const AttentionInput input = random_input(check, shape);
  options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  const at::Tensor y = at::empty(input.query.sizes(), input.query.options());
  const bool ran = check.kernels().attend(input, batch_on(check.device()), options, y);
  compare(check, input, options, {ran, y, kEnds[std::size(kEnds) - 1]});
}

// Compares the short sequences, and checks that the rows of the others stay as they are.
void compare_short(KernelCheck& check, const Shape& shape, AttentionOptions options) {
  constexpr double kUntouched = 7;
  const AttentionInput input = random_input(check, shape);
  options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  const at::Tensor y = at::full(input.query.sizes(), kUntouched, input.query.options());
  const int64_t most = encode_cuda_short_tokens(shape.head_dim);
  const ShortSequences all = {.cu_seqlens = batch_on(check.device()).cu_seqlens_device,
                              .longest = most};
  const bool ran = check.kernels().attend_short(input, all, options, y);
  int64_t used = 0;  // the rows before the first sequence that is longer
  for (size_t b = 1; b < std::size(kEnds) && kEnds[b] - kEnds[b - 1] <= most; ++b) used = kEnds[b];
  compare(check, input, options, {ran, y, used});
  constexpr int64_t kLast = kEnds[std::size(kEnds) - 2];  // the last sequence is longer
  const at::Tensor rest = y.narrow(0, kLast, y.size(0) - kLast);
  check.compare(ran, rest, at::full_like(rest, kUntouched, at::kFloat));
}

}  // namespace

void check_attention(KernelCheck& check) {
  constexpr int64_t kReach = 20;
  constexpr int64_t kColumns = 2 * kReach + 1;
  constexpr int64_t kSlots = 168;
  // This is the shape of Gemma 2: capped scores, a window, key heads that several query heads
  // share, and a large head_dim.
  compare(check, {.heads = 4, .key_heads = 2, .head_dim = 256},
          {.window = {.left = 40, .right = 0}, .softcap = 3});
  compare(check, {.heads = 2, .key_heads = 2, .head_dim = 40},
          {.window = {.left = 10, .right = 12}});
  // DeBERTa has a table for the token of the query and a table for the token of the key.
  RelativePositions relative = positions(check, kReach);
  relative.of_query = check.random({kSlots, 3, kColumns});
  relative.of_key = check.random({kSlots, 3, kColumns});
  compare(check, {.heads = 3, .key_heads = 3, .head_dim = 64}, {.relative = &relative});
  relative.of_query = at::Tensor();
  relative.bias = check.random({3, kColumns}, at::kFloat);
  compare(check, {.heads = 3, .key_heads = 3, .head_dim = 128}, {.relative = &relative});
}

void check_short_attention(KernelCheck& check) {
  compare_short(check, {.heads = 12, .key_heads = 12, .head_dim = 32}, {});
  compare_short(check, {.heads = 3, .key_heads = 3, .head_dim = 64},
                {.window = {.left = 10, .right = 12}});
  compare_short(check, {.heads = 4, .key_heads = 2, .head_dim = 128},
                {.window = AttentionWindow::causal()});
}

}  // namespace encode
