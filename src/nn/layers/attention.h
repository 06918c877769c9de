// Scaled dot-product attention over packed sequences, without padding and without mask tensors.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/layers/packed_input.h"

namespace encode {

// The projections of T token slots. Only the last dimension must be dense, so they can be slices of
// one fused projection. heads must be a multiple of key_value_heads (grouped-query attention,
// Ainslie et al. 2023).
struct AttentionInput {
  at::Tensor query;  // [T, heads, head_dim]
  at::Tensor key;    // [T, key_value_heads, head_dim]
  at::Tensor value;  // [T, key_value_heads, head_dim]
};

// The keys that a query at position i sees: those at positions i - left to i + right, both
// included. kUnlimited, or any other negative number, sets no limit on that side.
struct AttentionWindow {
  static constexpr int64_t kUnlimited = -1;
  int64_t left = kUnlimited;
  int64_t right = kUnlimited;

  static AttentionWindow causal() { return {.left = kUnlimited, .right = 0}; }
};

// The terms of a score that depend on the distance between the query and the key. The distance d =
// key - query is clamped to [-R, R], and column[d + R] is its column in the tables. A column stands
// for a bucket of T5 or MPNet, for a logarithmic bucket of DeBERTa, or for the magnitude of the
// distance with ALiBi. A table that is undefined adds nothing.
struct RelativePositions {
  std::vector<int32_t> column;    // [2R + 1], values in [0, P)
  at::Tensor column_device = {};  // the same as int64 on the device of the model
  at::Tensor bias = {};           // [heads, P] float32, added after scaling
  at::Tensor of_query = {};       // [T, heads, P] in the compute type, added before scaling
  at::Tensor of_key = {};         // the same, but the row is the token of the key
  // pair_bias() (nn/cuda/attention.h) for the batch, if several layers share it. If it is
  // undefined, a CUDA device computes it in each call.
  at::Tensor pairs = {};
};

struct AttentionOptions {
  double scale = 1;  // factor of the scores, usually 1 / sqrt(head_dim)
  AttentionWindow window = {};
  double softcap = 0;                           // if > 0, score = softcap x tanh(score / softcap)
  const RelativePositions* relative = nullptr;  // borrowed for the call
  // Whether float32 queries, keys, values and weights may be rounded to bfloat16 for the products.
  // They are rounded on a CPU with products of bfloat16 pairs, if head_dim is a multiple of 32.
  bool rounds_operands = false;
};

// Returns the attention of each sequence to itself, [T, heads x head_dim]. The result for a
// sequence does not depend on the other sequences of the batch. score = softcap(scale x (q k +
// of_query + of_key)) + bias, and the softmax is computed in float32. The rows of filler slots are
// zero on CPU and undefined on CUDA.
//
// On CUDA the kernel is FlashAttention-2 for bfloat16 and float16, if the compute capability is at
// least 8.0, head_dim is at most 256 and no score depends on relative positions. Otherwise it is
// LibTorch's memory-efficient kernel. Softcap, of_query and of_key use plain products, sequence by
// sequence. Any number of threads may call it. Throws c10::Error if the device fails.
at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options);

}  // namespace encode
