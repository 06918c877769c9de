// Scaled dot-product attention over packed sequences, without padding and without mask tensors.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/layers/packed_input.h"

namespace encode {

// The queries, keys and values of T token slots. Only the last dimension must be dense, so the
// three tensors can be slices of one fused projection. heads must be a multiple of key_value_heads
// (grouped-query attention, Ainslie et al. 2023).
struct AttentionInput {
  at::Tensor query;  // [T, heads, head_dim]
  at::Tensor key;    // [T, key_value_heads, head_dim]
  at::Tensor value;  // [T, key_value_heads, head_dim]
};

// A query at position i sees the keys at positions i - left to i + right, both included. If `left`
// or `right` is negative (kUnlimited), that side has no limit.
struct AttentionWindow {
  static constexpr int64_t kUnlimited = -1;
  int64_t left = kUnlimited;
  int64_t right = kUnlimited;

  static AttentionWindow causal() { return {.left = kUnlimited, .right = 0}; }
};

// What an attention score gains from the distance between the query and the key. The tables below
// have P columns. The distance d = key - query is clamped to [-R, R], and column[d + R] is the
// column for it. In T5, MPNet and DeBERTa a column stands for a bucket of distances. With ALiBi a
// column stands for the magnitude of the distance. An undefined table adds nothing.
struct RelativePositions {
  std::vector<int32_t> column;    // [2R + 1], values in [0, P)
  at::Tensor column_device = {};  // `column` as int64, on the device of the model
  at::Tensor bias = {};           // [heads, P] float32, added after scaling
  at::Tensor of_query = {};       // [T, heads, P] in the compute type, added before scaling
  at::Tensor of_key = {};         // as of_query, but the first index is the token of the key
  // The result of pair_bias() (nn/cuda/cuda_attention.h) for the batch, if several layers share it.
  // If `pairs` is undefined, attention on CUDA calls pair_bias() itself.
  at::Tensor pairs = {};
};

struct AttentionOptions {
  double scale = 1;  // factor of the scores, usually 1 / sqrt(head_dim)
  AttentionWindow window = {};
  double softcap = 0;                           // if > 0, score = softcap x tanh(score / softcap)
  const RelativePositions* relative = nullptr;  // must outlive the call
  // Whether float32 queries, keys, values and weights may be rounded to bfloat16 before they are
  // multiplied. They are rounded only on a CPU with instructions for bfloat16 products, and only if
  // head_dim is a multiple of 32.
  bool rounds_operands = false;
};

// Returns the attention of each sequence to itself, [T, heads x head_dim]. The result for a
// sequence does not depend on the other sequences of the batch. The score of a query q and a key k
// is softcap(scale x (q k + of_query + of_key)) + bias. The softmax is computed in float32. The
// rows of filler slots are zero on CPU and have no defined values on CUDA.
//
// On CUDA the kernel is FlashAttention-2 for bfloat16 and float16, if the compute capability is at
// least 8.0, head_dim is at most 256 and no score depends on relative positions; the plugin's
// kernel computes short sequences (encode_cuda_short_tokens() in nn/cuda/plugin.h). Otherwise it is
// LibTorch's memory-efficient kernel. Scores with a softcap, of_query or of_key are computed by the
// plugin's kernel, or, if it has none for them, by plain products, sequence by sequence. Any number
// of threads may call it. Throws c10::Error if the device fails.
at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options);

}  // namespace encode
