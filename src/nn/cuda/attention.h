// Attention on CUDA: the fused kernels of LibTorch, and plain products for what they do not
// support.
#pragma once

#include "nn/layers/attention.h"

namespace encode {

// varlen_attention() for tensors on a CUDA device. No step waits for the device.
at::Tensor attention_cuda(const AttentionInput& input, const PackedInput& batch,
                          const AttentionOptions& options);

// The same with plain products in float32, one sequence after the other, [T, heads, head_dim]. It
// supports all options and is the reference for the project's own kernel, but it needs some 15
// launches for each sequence.
at::Tensor attention_by_products(const AttentionInput& input, const PackedInput& batch,
                                 const AttentionOptions& options);

// Returns what each pair of positions adds to a score, for texts of up to batch.max_seqlen tokens,
// in the form that attention_cuda() gives to the kernel: -inf outside the window. `like` is the
// query. All layers that share `relative` and the window can use the same result: see
// RelativePositions::pairs.
at::Tensor pair_bias(const AttentionOptions& options, const PackedInput& batch,
                     const at::Tensor& like);

}  // namespace encode
