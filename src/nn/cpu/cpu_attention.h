// Attention on CPU. For each head, blocks of queries are multiplied with all keys that they see.
#pragma once

#include "nn/layers/attention.h"

namespace encode {

// varlen_attention() states the contract. The softmax has all scores of a query at once, unlike the
// online softmax of FlashAttention: the scores of a block of queries fit into the cache of a core
// at every length that models allow. Runs on the calling thread. Any number of threads may call it.
at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options);

}  // namespace encode
