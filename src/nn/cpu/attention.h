// Attention on CPU: per head, blocks of queries against all the keys they see.
#pragma once

#include "nn/layers/attention.h"

namespace encode {

// See varlen_attention(). Exact softmax, not the online form: the scores of a block of queries fit
// the core's cache at every length that models take. Single-threaded.
at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options);

}  // namespace encode
