// Attention on CUDA, with the fused kernels of LibTorch. The plugin's own kernel or plain matrix
// products compute what those kernels do not support.
#pragma once

#include "nn/layers/attention.h"

namespace encode {

// Computes varlen_attention() for tensors on a CUDA device. The host does not wait for the device.
at::Tensor attention_cuda(const AttentionInput& input, const PackedInput& batch,
                          const AttentionOptions& options);

// Computes varlen_attention() with plain float32 matrix products, one sequence after the other.
// Returns [T, heads, head_dim]. It supports all options and is the reference for the plugin's own
// kernel, but it is slow: it launches about 15 kernels for each sequence.
at::Tensor attention_by_products(const AttentionInput& input, const PackedInput& batch,
                                 const AttentionOptions& options);

struct PairShape {
  int64_t tokens;  // T, the number of token slots of the batch
  int64_t heads;
};

// Returns the number that is added to the score of each pair of a query and a key position:
// relative->bias, and -inf outside the window. The result has the form that the memory-efficient
// kernel takes, [1, heads, T, T] in the type of `tensor`, but only the first batch.max_seqlen
// positions have values. Layers with the same relative positions and the same window can share the
// result in RelativePositions::pairs.
at::Tensor pair_bias(const AttentionOptions& options, const PackedInput& batch,
                     const PairShape& shape, const at::TensorOptions& tensor);

}  // namespace encode
