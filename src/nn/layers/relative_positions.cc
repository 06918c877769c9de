#include "nn/layers/relative_positions.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/log.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include "nn/cuda/cuda_attention.h"

namespace encode {
namespace {

// Returns the distances from -reach to reach. Buckets are computed with the same tensor operations
// as in Hugging Face Transformers, because for a distance at the border of two buckets the rounding
// of a float32 logarithm decides.
at::Tensor distances(int64_t reach) { return at::arange(-reach, reach + 1, at::kLong); }

// Returns RelativePositions with `columns`, [2R + 1], and without tables.
RelativePositions with_columns(const at::Tensor& columns, at::Device device) {
  const at::Tensor dense = columns.to(at::kInt).contiguous();
  const auto* data = dense.const_data_ptr<int32_t>();
  return {.column = {data, data + dense.numel()}, .column_device = dense.to(device, at::kLong)};
}

// If the number of heads is a power of two, the slopes are a geometric sequence with the first term
// and the ratio 2^(-8/heads). Otherwise, let P be the next lower power of two. The first P heads
// have the slopes for P heads, and the other heads have every second slope for 2 P heads. The
// authors' get_slopes() does the same.
std::vector<float> alibi_slopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  const auto slope = [](int64_t i, int64_t of) {
    return static_cast<float>(
        std::pow(2.0, -8.0 * static_cast<double>(i) / static_cast<double>(of)));
  };
  for (int64_t i = 1; i <= power; ++i) slopes.push_back(slope(i, power));
  for (int64_t i = 0; i < heads - power; ++i) slopes.push_back(slope(2 * i + 1, 2 * power));
  return slopes;
}

}  // namespace

RelativePositions bucket_bias(const at::Tensor& table, int64_t max_distance) {
  const int64_t buckets = table.size(0) / 2;  // for keys on one side of the query
  const int64_t exact = buckets / 2;
  const at::Tensor distance = distances(max_distance);
  const at::Tensor away = at::abs(distance);
  const at::Tensor large =
      at::log(away.to(at::kFloat).div(exact))
          .div(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)))
          .mul(buckets - exact)
          .clamp_min(0)
          .to(at::kLong)
          .add(exact)
          .clamp_max(buckets - 1);
  const at::Tensor column =
      distance.gt(0).to(at::kLong).mul(buckets).add(at::where(away.lt(exact), away, large));
  RelativePositions relative = with_columns(column, table.device());
  relative.bias = table.t().to(at::kFloat).contiguous();
  return relative;
}

RelativePositions alibi_bias(int64_t heads, int64_t positions, at::Device device) {
  const at::Tensor slopes = at::tensor(alibi_slopes(heads), at::kFloat);
  RelativePositions relative = with_columns(at::abs(distances(positions - 1)), device);
  relative.bias = at::outer(slopes.neg(), at::arange(positions, at::kFloat)).to(device);
  return relative;
}

RelativePositions signed_alibi_bias(int64_t heads, int64_t positions, at::Device device) {
  const at::Tensor distance = distances(positions - 1);
  const at::Tensor slopes = at::tensor(alibi_slopes(heads), at::kFloat);
  RelativePositions relative = with_columns(distance.add(positions - 1), device);
  relative.bias = at::outer(slopes, distance.to(at::kFloat)).to(device);
  return relative;
}

RelativePositions for_batch(const RelativePositions& relative, const PackedInput& batch,
                            const at::Tensor& x, const AttentionWindow& window) {
  RelativePositions prepared = relative;
  if (x.device().is_cuda()) {
    const PairShape shape = {.tokens = x.size(0), .heads = relative.bias.size(0)};
    prepared.pairs =
        pair_bias({.window = window, .relative = &relative}, batch, shape, x.options());
  }
  return prepared;
}

RelativePositions disentangled_positions(int64_t span, int64_t max_distance, int64_t positions,
                                         at::Device device) {
  at::Tensor distance = distances(positions - 1).neg();  // query - key
  if (max_distance > 0) {
    const int64_t middle = span / 2;
    const at::Tensor away = at::where(at::abs(distance).lt(middle),
                                      at::scalar_tensor(middle - 1, at::kLong), at::abs(distance));
    const double widest =
        static_cast<double>(max_distance - 1) / static_cast<double>(std::max<int64_t>(1, middle));
    const at::Tensor bucket = at::ceil(at::log(away.to(at::kFloat).div(middle))
                                           .div(at::log(at::scalar_tensor(widest, at::kFloat)))
                                           .mul(middle - 1))
                                  .add(middle)
                                  .mul(at::sign(distance));
    distance = at::where(away.le(middle), distance.to(at::kFloat), bucket).to(at::kLong);
  }
  return with_columns(distance.add(span).clamp(0, 2 * span - 1), device);
}

}  // namespace encode
