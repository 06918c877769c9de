// Turns token vectors into embeddings, as sentence-transformers defines it. Any number of threads
// may call these functions. They throw c10::Error if the device fails.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/types.h"

#include "nn/layers/packed_input.h"
#include "nn/layers/product_format.h"

namespace encode {

// Pools hidden_states of any compute type: [T, hidden_size] for the T slots of the batch, filler
// included, or [P, hidden_size] if batch.pooled_rows [P] is defined. Returns [B, modes.size() x
// hidden_size] float32, with the modes side by side in the order of `modes`. For {kNone} it returns
// the vector of every token and leaves the filler out.
//
// Sums are computed in float32 in the order of the tokens, so the bits of an embedding do not
// depend on the other sequences of the batch. If all tokens of a sequence belong to the prompt
// (batch.prompt_tokens), the result is zero, except for cls, lasttoken and kNone.
at::Tensor pool(const at::Tensor& hidden_states, const PackedInput& batch,
                const std::vector<PoolingMode>& modes);

// Does the same with LibTorch's operations, on any device. `hidden_states` must have the rows of
// all slots.
at::Tensor pool_by_operations(const at::Tensor& hidden_states, const PackedInput& batch,
                              const std::vector<PoolingMode>& modes);

// Returns PackedBatch::spans as slots of the batch, in the order of the vectors.
std::vector<TokenSpan> slots_of_spans(const PackedBatch& batch);
// The token vectors of some spans, for pool().
struct SpanTokens {
  at::Tensor hidden_states;  // [tokens of the spans, hidden_size], on the device
  PackedInput input;         // its sequences are the spans, and it has no filler
};
// Copies the token vectors of spans of slots. `hidden_states` is [slots, hidden_size] of any
// compute type, which is also that of the result.
SpanTokens span_tokens(const at::Tensor& hidden_states, std::span<const TokenSpan> spans);

// Returns whether `modes` read only one token of each sequence (cls or the last token). The last
// layer of the model then needs to compute only the tokens of batch.pooled_rows.
bool reads_one_token(const std::vector<PoolingMode>& modes);

// Returns the value of PackedInput::pooled_rows for a mode that reads one token. Filler rows extend
// the result to a multiple of kProductBlockRows (nn/products/row_blocks.h), except on CPU if matrix
// products of this format need no blocks. On CPU the result is undefined if it would have as many
// rows as the batch has tokens, or more.
at::Tensor pooled_rows(const PackedInput& batch, PoolingMode mode, ProductFormat format);

// Divides each row of x [B, dim] float32 in place by its Euclidean norm, or by 1e-12 if the norm is
// smaller (torch.nn.functional.normalize). Throws no Error.
void l2_normalize(at::Tensor& x);

}  // namespace encode
