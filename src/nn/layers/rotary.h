// Rotary position embedding (RoFormer, Su et al. 2021) in the half-split form of GPT-NeoX and
// Llama.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/layers/packed_input.h"
#include "nn/layers/rope.h"

namespace encode {

// Cosines and sines of the tokens of one batch, the same for every layer: [T, head_dim / 2]
// float32.
struct RotaryAngles {
  at::Tensor cos;
  at::Tensor sin;
};

// Tables of cos and sin for positions [0, positions). Immutable; any number of threads.
class Rotary {
 public:
  Rotary(const RopeParameters& rope, int64_t positions, at::Device device);

  // Every position of the batch must be below `positions`. With dynamic scaling a text longer than
  // the model was trained with gets the frequencies of its own length, whatever its neighbours are.
  RotaryAngles angles(const PackedInput& batch) const;

 private:
  RopeParameters rope_;
  RotaryAngles table_;  // [positions, head_dim / 2]
};

// Rotates the first `heads` heads of every row of qkv [T, row_heads, head_dim] in place.
void rotate(at::Tensor& qkv, int64_t heads, const RotaryAngles& angles);

}  // namespace encode
