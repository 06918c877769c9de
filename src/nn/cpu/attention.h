// Attention on CPU. For each head, blocks of queries are multiplied with all keys that they see.
#pragma once

#include "nn/layers/attention.h"

namespace encode {

// varlen_attention() states the contract. The function computes all scores of a query before the
// softmax. FlashAttention instead updates its softmax key block by key block, which is not needed
// here: the scores of a block of queries fit into the cache of a core at every length that models
// allow. Runs on the calling thread.
at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options);

}  // namespace encode
