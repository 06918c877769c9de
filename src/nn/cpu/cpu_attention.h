// Attention on CPU. For each head, blocks of queries are multiplied with all keys that they see.
#pragma once

#include "nn/layers/attention.h"

namespace encode {

// Computes varlen_attention() on the CPU. The softmax reads all scores of a query at once, and not
// in parts as in FlashAttention, because the scores of a block of queries fit into the cache of a
// core at every length that models allow. Runs on the calling thread. Any number of threads may
// call it.
at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options);

}  // namespace encode
