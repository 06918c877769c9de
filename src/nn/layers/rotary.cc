#include "nn/layers/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/sin.h>

#include "nn/cpu/rows.h"
#include "nn/cuda/cuda_kernels.h"

namespace encode {
namespace {

void rotate_cpu(const at::Tensor& qkv, int64_t heads, const RotaryAngles& angles) {
  const int64_t half = angles.cos.size(1);
  const auto* cos = angles.cos.const_data_ptr<float>();
  const auto* sin = angles.sin.const_data_ptr<float>();
  with_row_type(qkv.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const auto turn = kernels::kernels().template rows<T>().rotary;
    for (int64_t t = 0; t < qkv.size(0); ++t) {
      T* token = rows_of<T>(qkv) + t * qkv.stride(0);
      for (int64_t head = 0; head < heads; ++head) {
        turn({.head = token + head * qkv.stride(1),
              .cos = cos + t * half,
              .sin = sin + t * half,
              .half = half});
      }
    }
  });
}

// Returns the cosines and sines of the positions [0, positions) in a text of `length` tokens.
RotaryAngles make_table(const RopeParameters& rope, int64_t positions, int64_t length,
                        at::Device device) {
  const at::Tensor angles =
      at::outer(at::arange(positions, at::kFloat), rope_frequencies(rope, length));
  return {at::cos(angles).mul_(rope.attention_factor).to(device),
          at::sin(angles).mul_(rope.attention_factor).to(device)};
}

}  // namespace

Rotary::Rotary(const RopeParameters& rope, int64_t positions, at::Device device)
    : rope_(rope), table_(make_table(rope, positions, /*length=*/1, device)) {}

RotaryAngles Rotary::angles(const PackedInput& batch) const {
  RotaryAngles angles = {table_.cos.index_select(0, batch.position_ids),
                         table_.sin.index_select(0, batch.position_ids)};
  if (rope_.type != RopeType::kDynamic || batch.max_seqlen <= rope_.max_position_embeddings)
    return angles;
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const int64_t begin = batch.cu_seqlens[b];
    const int64_t length = batch.cu_seqlens[b + 1] - begin;
    if (length <= rope_.max_position_embeddings) continue;
    const RotaryAngles own = make_table(rope_, length, length, table_.cos.device());
    angles.cos.narrow(0, begin, length).copy_(own.cos);
    angles.sin.narrow(0, begin, length).copy_(own.sin);
  }
  return angles;
}

void rotate(at::Tensor& qkv, int64_t heads, const RotaryAngles& angles) {
  if (qkv.device().is_cpu()) {
    rotate_cpu(qkv, heads, angles);
    return;
  }
  if (cuda_kernels().rotate(qkv, heads, angles.cos, angles.sin)) return;
  const int64_t half = angles.cos.size(1);
  at::Tensor rotated = qkv.narrow(1, 0, heads).narrow(2, 0, 2 * half);
  const at::Tensor cos = angles.cos.unsqueeze(1);  // [T, 1, half]
  const at::Tensor sin = angles.sin.unsqueeze(1);
  const at::Tensor first = rotated.narrow(2, 0, half).to(at::kFloat);
  const at::Tensor second = rotated.narrow(2, half, half).to(at::kFloat);
  rotated.copy_(
      at::cat({first.mul(cos).sub(second.mul(sin)), second.mul(cos).add(first.mul(sin))}, 2));
}

}  // namespace encode
