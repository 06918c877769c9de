#include "nn/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sin.h>

#include "nn/cpu_rows.h"

namespace encode {
namespace {

void rotate_cpu(const at::Tensor& qkv, int64_t heads, const at::Tensor& cos, const at::Tensor& sin,
                const at::Tensor& position_ids) {
  const int64_t head_dim = qkv.size(2);
  const int64_t half = head_dim / 2;
  const auto* positions = position_ids.const_data_ptr<int64_t>();
  with_row_type(qkv.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const auto rotate = kernels::kernels().template rows<T>().rotary;
    for (int64_t t = 0; t < qkv.size(0); ++t) {
      const int64_t offset = positions[t] * half;
      T* token = rows_of<T>(qkv) + t * qkv.stride(0);
      for (int64_t head = 0; head < heads; ++head) {
        rotate({.head = token + head * qkv.stride(1),
                .cos = cos.const_data_ptr<float>() + offset,
                .sin = sin.const_data_ptr<float>() + offset,
                .half = half});
      }
    }
  });
}

}  // namespace

Rotary::Rotary(int64_t head_dim, double theta, int64_t positions, at::Device device) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, options).div(static_cast<double>(head_dim));
  const at::Tensor frequencies = at::reciprocal(at::pow(theta, exponents));
  const at::Tensor angles = at::outer(at::arange(positions, options), frequencies);
  cos_ = at::cos(angles).to(device);
  sin_ = at::sin(angles).to(device);
}

void Rotary::apply(at::Tensor& qkv, int64_t heads, const at::Tensor& position_ids) const {
  if (qkv.device().is_cpu()) {
    rotate_cpu(qkv, heads, cos_, sin_, position_ids);
    return;
  }
  at::Tensor rotated = qkv.narrow(1, 0, heads);
  const int64_t half = qkv.size(2) / 2;
  const at::Tensor cos = cos_.index_select(0, position_ids).unsqueeze(1);  // [T, 1, head_dim / 2]
  const at::Tensor sin = sin_.index_select(0, position_ids).unsqueeze(1);
  const at::Tensor first = rotated.narrow(2, 0, half).to(at::kFloat);
  const at::Tensor second = rotated.narrow(2, half, half).to(at::kFloat);
  rotated.copy_(
      at::cat({first.mul(cos).sub(second.mul(sin)), second.mul(cos).add(first.mul(sin))}, 2));
}

}  // namespace encode
