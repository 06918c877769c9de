// Rotary position embedding (RoFormer, Su et al. 2021) in the half-split form of GPT-NeoX and
// Llama.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace encode {

// Tables of cos and sin for positions [0, positions). Immutable; any number of threads.
class Rotary {
 public:
  // theta: the base of the frequencies. Angles are computed in float32 with the operations of the
  // Hugging Face implementation: at position 8,000 a last-bit difference in a frequency is 1e-3 in
  // an angle.
  Rotary(int64_t head_dim, double theta, int64_t positions, at::Device device);

  // Rotates the first `heads` heads of every row of qkv [T, row_heads, head_dim] in place;
  // position_ids [T] int64, each in [0, positions).
  void apply(at::Tensor& qkv, int64_t heads, const at::Tensor& position_ids) const;

 private:
  at::Tensor cos_;  // [positions, head_dim / 2] float32
  at::Tensor sin_;
};

}  // namespace encode
