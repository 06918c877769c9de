// Row-wise CPU kernels that LibTorch has no fused form of. Contiguous tensors in float32, bfloat16
// or float16, arithmetic in float32. Single-threaded: the engine runs one batch a thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace encode::cpu {

// y[t] = weight * round(x[t] / sqrt(mean(x[t]^2) + eps)), rounded to the compute type before the
// weight is applied, as Hugging Face's Qwen2RMSNorm does. x, y [T, hidden_size]; weight
// [hidden_size].
void rms_norm(const at::Tensor& x, const at::Tensor& weight, float eps, at::Tensor& y);

// Rotary position embedding (Su et al. 2021), half-split ("neox") form, in place on the first
// `heads` heads of each row: qkv [T, row_heads, head_dim]; cos, sin [positions, head_dim / 2]
// float32; position_ids [T] int64.
void rotary(at::Tensor& qkv, int64_t heads, const at::Tensor& cos, const at::Tensor& sin,
            const at::Tensor& position_ids);

}  // namespace encode::cpu
