// Makers of RelativePositions: the position terms of T5 and MPNet, DeBERTa, and ALiBi.
#pragma once

#include <cstdint>

#include "nn/layers/attention.h"

namespace encode {

// Learned biases for logarithmic buckets of the distance (T5, Raffel et al. 2020). `table`
// [num_buckets, heads] in any float type; distances from max_distance on share a bucket.
RelativePositions bucket_bias(const at::Tensor& table, int64_t max_distance);

// A penalty that grows with the distance, with a slope for each head (ALiBi, Press et al. 2022), to
// both sides. For texts of up to `positions` tokens.
RelativePositions alibi_bias(int64_t heads, int64_t positions, at::Device device);

// DeBERTa's columns (He et al. 2021, section 3.1): the distance query - key shifted by `span`, in
// logarithmic buckets beyond span / 2 where `max_distance` is above 0. P = 2 x span. For texts of
// up to `positions` tokens.
std::vector<int32_t> disentangled_columns(int64_t span, int64_t max_distance, int64_t positions);

}  // namespace encode
