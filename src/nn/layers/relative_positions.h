// Functions that make the RelativePositions of T5 and MPNet, of ALiBi, and of DeBERTa. Any number
// of threads may call them. They throw c10::Error if the device fails.
#pragma once

#include <cstdint>

#include "nn/layers/attention.h"

namespace encode {

// Returns learned biases for logarithmic buckets of the distance (T5, Raffel et al. 2020). `table`
// is [num_buckets, heads] in any float type, on the device of the model. All distances from
// max_distance on share one bucket on each side.
RelativePositions bucket_bias(const at::Tensor& table, int64_t max_distance);

// Returns a bias that falls linearly with the distance between query and key, with one slope for
// each head (ALiBi, Press et al. 2022). Keys before and after the query get the same bias. Texts
// have at most `positions` tokens.
RelativePositions alibi_bias(int64_t heads, int64_t positions, at::Device device);

// Returns a bias that grows by the slope of the head with each position of the key, so a key before
// the query lowers the score, and a key after it raises the score. In a causal model this equals
// alibi_bias(). transformers computes BLOOM in this way. Texts have at most `positions` tokens.
RelativePositions signed_alibi_bias(int64_t heads, int64_t positions, at::Device device);

// Returns only the columns of DeBERTa (He et al. 2021, section 3.1). Each layer must set of_query
// and of_key. The column of a pair is query - key + span, clamped to [0, 2 x span). If
// `max_distance` is above 0, distances beyond span / 2 share logarithmic buckets. Texts have at
// most `positions` tokens.
RelativePositions disentangled_positions(int64_t span, int64_t max_distance, int64_t positions,
                                         at::Device device);

// Returns a copy of `relative` for one batch. On CUDA it has `pairs`, in which the keys outside of
// `window` are masked, so only layers with this window may use it. `x` is the input of a layer, [T,
// hidden_size] in the compute type.
RelativePositions for_batch(const RelativePositions& relative, const PackedInput& batch,
                            const at::Tensor& x, const AttentionWindow& window = {});

}  // namespace encode
