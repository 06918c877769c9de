// Rotary position embedding (RoFormer, Su et al. 2021), in the form of GPT-NeoX and Llama: element
// i of a head is paired with element head_dim / 2 + i. The functions throw c10::Error if the device
// fails.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/layers/packed_input.h"
#include "nn/layers/rope.h"

namespace encode {

// The cosines and sines of the rotation angles of T tokens, [T, RopeParameters::head_dim / 2]
// float32. All layers with the same RopeParameters share them.
struct RotaryAngles {
  at::Tensor cos;
  at::Tensor sin;
};

// The tables of cos and sin for positions [0, positions). Immutable; any number of threads may use
// it.
class Rotary {
 public:
  Rotary(const RopeParameters& rope, int64_t positions, at::Device device);

  // Returns the angles of a batch. Every position of the batch must be below `positions`. With
  // RopeType::kDynamic, a text of more than max_position_embeddings tokens gets the frequencies for
  // its own length. The other texts of the batch do not affect these frequencies.
  RotaryAngles angles(const PackedInput& batch) const;

 private:
  RopeParameters rope_;
  RotaryAngles table_;  // [positions, head_dim / 2]
};

// Rotates the first `heads` heads of every row of qkv [T, row_heads, head_dim] in place. `heads` is
// at most row_heads. If RopeParameters::head_dim is smaller than the head_dim of qkv, only the
// first elements of each head are rotated (GPT-NeoX, Phi), and on CUDA LibTorch's operations do it.
void rotate(at::Tensor& qkv, int64_t heads, const RotaryAngles& angles);

}  // namespace encode
