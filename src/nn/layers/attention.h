// Scaled dot-product attention over packed sequences: no padding, no mask tensors.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/layers/packed_input.h"

namespace encode {

// The projections of T token slots. Only the last dimension must be dense, so slices of one fused
// projection will do. heads must be a multiple of key_value_heads (grouped-query attention, Ainslie
// et al. 2023).
struct AttentionInput {
  at::Tensor query;  // [T, heads, head_dim]
  at::Tensor key;    // [T, key_value_heads, head_dim]
  at::Tensor value;  // [T, key_value_heads, head_dim]
};

// The keys that a query at position i sees: i - left to i + right, both included.
struct AttentionWindow {
  static constexpr int64_t kUnlimited = -1;
  int64_t left = kUnlimited;
  int64_t right = kUnlimited;

  static AttentionWindow causal() { return {.left = kUnlimited, .right = 0}; }
};

// Terms of the score that depend on how far the key is from the query. `column` maps the distance
// key - query, clamped to [-R, R] and counted from -R, to one of P columns: a T5 or MPNet bucket, a
// DeBERTa log bucket, or the distance itself for ALiBi. Tables left undefined add nothing.
struct RelativePositions {
  std::vector<int32_t> column;  // [2R + 1], values in [0, P)
  at::Tensor bias = {};         // [heads, P] float32, added after scaling
  at::Tensor of_query = {};     // [T, heads, P] in the compute type, added before scaling
  at::Tensor of_key = {};       // [T, heads, P], the same, indexed by the key's token
};

struct AttentionOptions {
  double scale = 1;  // of the scores, usually 1 / sqrt(head_dim)
  AttentionWindow window = {};
  double softcap = 0;                           // > 0: score = softcap x tanh(score / softcap)
  const RelativePositions* relative = nullptr;  // borrowed for the call
  // float32 queries, keys, values and weights may be rounded to bfloat16 for the products: on CPU,
  // where it has products of bfloat16 pairs and head_dim is a multiple of 32.
  bool rounds_operands = false;
};

// [T, heads x head_dim]. A sequence attends to itself alone; its result does not depend on its
// neighbours in the batch. score = softcap(scale x (q k + of_query + of_key)) + bias, softmax in
// float32. Filler slots come out as zeros on CPU and undefined on CUDA. CUDA: FlashAttention-2 in
// bfloat16 and float16 (compute capability >= 8.0), else the memory-efficient kernel; softcap and
// relative positions take plain products there, sequence by sequence.
at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options);

}  // namespace encode
