// Token embeddings -> sentence embeddings, with the definitions of sentence-transformers.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/types.h"

#include "nn/layers/packed_input.h"
#include "nn/layers/product_format.h"

namespace encode {

// hidden_states [T, hidden_size], or [P, hidden_size] with batch.pooled_rows, in any compute type
// -> [B, modes.size() x hidden_size] float32, the modes side by side in the order given. Sums run
// in float32 in token order, so a row's bits do not depend on its batch. A sequence whose tokens
// are all part of the prompt (batch.prompt_tokens) pools to zero, except cls and lasttoken.
// {kNone} -> [tokens of the sequences, hidden_size].
at::Tensor pool(const at::Tensor& hidden_states, const PackedInput& batch,
                const std::vector<PoolingMode>& modes);

// Whether `modes` read one token of each sequence (cls or the last token), so that the model can be
// asked for batch.pooled_rows alone.
bool reads_one_token(const std::vector<PoolingMode>& modes);

// The rows that such a mode reads, for PackedInput::pooled_rows, filled up to whole blocks where a
// product of this format needs them (nn/layers/linear.h); undefined on CPU where that would be no
// fewer than all tokens.
at::Tensor pooled_rows(const PackedInput& batch, PoolingMode mode, ProductFormat format);

// Each row divided by its Euclidean norm, at least 1e-12 (torch.nn.functional.normalize), in place.
// x [B, dim] float32.
void l2_normalize(at::Tensor& x);

}  // namespace encode
