// Compares the plugin's attention kernel with attention_by_products().
#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include "nn/cuda/cuda_attention.h"
#include "nn/cuda/kernel_check.h"

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

struct Shape {
  int64_t heads;
  int64_t key_heads;
  int64_t head_dim;
};

// Compares one call. Query, key and value are slices of one fused projection, as in a model.
void compare(KernelCheck& check, const Shape& shape, AttentionOptions options) {
  constexpr int64_t kFiller = 3;
  const PackedInput batch = batch_on(check.device());
  const int64_t used = kEnds[std::size(kEnds) - 1];
  const at::Tensor qkv =
      check.random({used + kFiller, shape.heads + 2 * shape.key_heads, shape.head_dim});
  const AttentionInput input = {
      .query = qkv.narrow(1, 0, shape.heads),
      .key = qkv.narrow(1, shape.heads, shape.key_heads),
      .value = qkv.narrow(1, shape.heads + shape.key_heads, shape.key_heads)};
  options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  const at::Tensor y = at::empty(input.query.sizes(), qkv.options());
  const bool ran = check.kernels().attend(input, batch, options, y);
  const AttentionInput wide = {.query = input.query.to(at::kFloat),
                               .key = input.key.to(at::kFloat),
                               .value = input.value.to(at::kFloat)};
  check.compare(ran, y.narrow(0, 0, used),
                attention_by_products(wide, batch, options).narrow(0, 0, used));
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

}  // namespace encode
