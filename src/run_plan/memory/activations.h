// The hidden states that exist at once while a batch passes through a layer.
#pragma once

#include <cstdint>

#include "run_plan/memory/memory_estimate.h"

namespace encode {

// The widths, in numbers for each token position, that are alive at the two highest points of a
// layer. A batch needs the larger of the two at once.
struct LayerWidths {
  // SelfAttention::heads_of() in models/layers.cc: the input, its norm, queries with keys and
  // values, and the heads.
  int64_t attention = 0;
  // FeedForward::inner() and add(): the input, the heads, the residual sum, its norm, what is
  // between the two products, and the result of the second one. apply_gate() holds both halves and
  // their product at once.
  int64_t mlp = 0;

  int64_t largest() const { return attention > mlp ? attention : mlp; }
};
LayerWidths layer_widths(const ModelShape& shape);

// The hidden states of one batch: MemoryRequest::token_slots() x LayerWidths::largest().
int64_t activation_bytes(const MemoryRequest& request);

// The weights of matrix products, without tables: MemoryRequest's compute type, unpacked.
int64_t matrix_bytes(const MemoryRequest& request);
// Tables, norms and biases, which WeightScope::take() copies in the compute type. The weights of
// the modules after the transformer (engine/head.cc) are float32.
int64_t table_bytes(const MemoryRequest& request);

// "85.0M numbers x 4 bytes".
std::string numbers_text(int64_t elements, int64_t bytes_each);

}  // namespace encode
