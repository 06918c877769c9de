// Scaled dot-product attention over packed sequences: no padding, no mask tensors.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/packed_input.h"

namespace encode {

// The projections of T token slots. Only the last dimension must be dense, so slices of one fused
// projection will do. heads must be a multiple of key_value_heads (grouped-query attention, Ainslie
// et al. 2023).
struct AttentionInput {
  at::Tensor query;  // [T, heads, head_dim]
  at::Tensor key;    // [T, key_value_heads, head_dim]
  at::Tensor value;  // [T, key_value_heads, head_dim]
};

struct AttentionOptions {
  double scale = 1;     // of the scores, usually 1 / sqrt(head_dim)
  bool causal = false;  // a token sees itself and the tokens before it
};

// [T, heads x head_dim]. A sequence attends to itself alone; its result does not depend on its
// neighbours in the batch. Filler slots come out as zeros on CPU and undefined on CUDA. CUDA:
// FlashAttention-2 in bfloat16 and float16 (compute capability >= 8.0), the memory-efficient kernel
// else.
at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options);

}  // namespace encode
