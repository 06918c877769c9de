#include "nn/cpu_kernels.h"

#include <array>
#include <cmath>
#include <cstdint>

#include <ATen/Dispatch.h>

namespace encode::cpu {
namespace {

// Sixteen partial sums: a fixed order of summation that the compiler can keep in one vector
// register, so the result does not depend on how the loop was vectorised.
constexpr int64_t kLanes = 16;

template <typename T>
float sum_of_squares(const T* x, int64_t n) {
  std::array<float, kLanes> lanes = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<float>(x[i + lane]);
      lanes[static_cast<size_t>(lane)] += value * value;
    }
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) {
    const auto value = static_cast<float>(x[i]);
    lanes[static_cast<size_t>(lane)] += value * value;
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

template <typename T>
void rms_norm_row(const T* x, const T* weight, int64_t n, float eps, T* y) {
  const float scale = 1.0F / std::sqrt(sum_of_squares(x, n) / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) {
    const T normed = static_cast<T>(static_cast<float>(x[i]) * scale);
    y[i] = static_cast<T>(static_cast<float>(weight[i]) * static_cast<float>(normed));
  }
}

template <typename T>
void rotate_head(T* head, const float* cos, const float* sin, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const auto first = static_cast<float>(head[i]);
    const auto second = static_cast<float>(head[half + i]);
    head[i] = static_cast<T>(first * cos[i] - second * sin[i]);
    head[half + i] = static_cast<T>(second * cos[i] + first * sin[i]);
  }
}

}  // namespace

void rms_norm(const at::Tensor& x, const at::Tensor& weight, float eps, at::Tensor& y) {
  const int64_t n = x.size(-1);
  const int64_t rows = x.numel() / n;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "rms_norm", [&] {
    const auto* in = x.const_data_ptr<scalar_t>();
    auto* out = y.mutable_data_ptr<scalar_t>();
    const auto* w = weight.const_data_ptr<scalar_t>();
    for (int64_t row = 0; row < rows; ++row) rms_norm_row(in + row * n, w, n, eps, out + row * n);
  });
}

void rotary(at::Tensor& qkv, int64_t heads, const at::Tensor& cos, const at::Tensor& sin,
            const at::Tensor& position_ids) {
  const int64_t tokens = qkv.size(0);
  const int64_t row_heads = qkv.size(1);
  const int64_t head_dim = qkv.size(2);
  const int64_t half = head_dim / 2;
  const auto* cos_table = cos.const_data_ptr<float>();
  const auto* sin_table = sin.const_data_ptr<float>();
  const auto* positions = position_ids.const_data_ptr<int64_t>();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, qkv.scalar_type(), "rotary", [&] {
    auto* data = qkv.mutable_data_ptr<scalar_t>();
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t offset = positions[t] * half;
      for (int64_t head = 0; head < heads; ++head) {
        rotate_head(data + (t * row_heads + head) * head_dim, cos_table + offset,
                    sin_table + offset, half);
      }
    }
  });
}

}  // namespace encode::cpu
