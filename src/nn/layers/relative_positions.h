// Functions that make RelativePositions: the position terms of T5 and MPNet, DeBERTa, and ALiBi.
#pragma once

#include <cstdint>

#include "nn/layers/attention.h"

namespace encode {

// Returns learned biases for logarithmic buckets of the distance (T5, Raffel et al. 2020). `table`
// is [num_buckets, heads] in any float type, on the device of the model. All distances from
// max_distance on share one bucket on each side.
RelativePositions bucket_bias(const at::Tensor& table, int64_t max_distance);

// Returns a penalty that grows with the distance on both sides, with one slope for each head
// (ALiBi, Press et al. 2022). Texts have at most `positions` tokens.
RelativePositions alibi_bias(int64_t heads, int64_t positions, at::Device device);

// Returns the columns of DeBERTa (He et al. 2021, section 3.1) without terms: the distance query -
// key, shifted by `span`. If `max_distance` is above 0, distances beyond span / 2 are in
// logarithmic buckets. There are 2 x span columns. Texts have at most `positions` tokens.
RelativePositions disentangled_positions(int64_t span, int64_t max_distance, int64_t positions,
                                         at::Device device);

// Returns the positions with `pairs` for the batch, if the attention of its device uses these. `x`
// is the input of a layer, [T, hidden_size] in the compute type.
RelativePositions for_batch(const RelativePositions& relative, const PackedInput& batch,
                            const at::Tensor& x);

}  // namespace encode
