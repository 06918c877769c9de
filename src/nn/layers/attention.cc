#include "nn/layers/attention.h"

#include "nn/cpu/cpu_attention.h"
#include "nn/cuda/cuda_attention.h"

namespace encode {

at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options) {
  return input.query.device().is_cpu() ? attention_cpu(input, batch, options)
                                       : attention_cuda(input, batch, options);
}

}  // namespace encode
