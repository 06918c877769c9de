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

struct PairShape {
  int64_t tokens;  // T, the slots of the batch
  int64_t heads;
};

// Returns what each pair of positions of a sequence adds to a score: relative->bias, and -inf
// outside the window. The result has the form that the memory-efficient kernel takes, [1, heads, T,
// T] in the type of `tensor`, but only the first batch.max_seqlen positions have values. Layers
// with the same relative positions and the same window can share it: see RelativePositions::pairs.
at::Tensor pair_bias(const AttentionOptions& options, const PackedInput& batch,
                     const PairShape& shape, const at::TensorOptions& tensor);

}  // namespace encode
