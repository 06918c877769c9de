#include "models/mixture_of_experts.h"

#include <fmt/format.h>

#include <ATen/ops/nonzero.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

namespace encode {

MixtureOfExperts::MixtureOfExperts(const ModuleLoader& mlp, const ExpertsShape& shape)
    : router_(mlp.linear("router.layer", {"num_experts", shape.num_experts}, shape.hidden,
                         {.bias = false})),
      bias_(mlp.tensor("experts.bias", {shape.hidden})),
      top_k_(shape.top_k) {
  const Dim rows = {fmt::format("num_experts x {}", shape.inner.label),
                    shape.num_experts * shape.inner.size};
  const at::Tensor up = mlp.tensor("experts.mlp.w1", {rows, shape.hidden});
  const at::Tensor down = mlp.tensor("experts.mlp.w2", {rows, shape.hidden});
  for (int64_t expert = 0; expert < shape.num_experts; ++expert) {
    const auto own = [&](const at::Tensor& all) {
      return all.narrow(0, expert * shape.inner.size, shape.inner.size);
    };
    up_.push_back(mlp.linear_of(own(up).clone(), shape.activation));
    down_.push_back(mlp.linear_of(own(down).t().contiguous(), Activation::kNone));
  }
}

ResidualSum MixtureOfExperts::add(const LinearInput& input, const at::Tensor& residual) const {
  const at::Tensor& x = input.rows;
  const auto [weights, experts] =
      at::topk(at::softmax(router_(x).to(at::kFloat), -1), top_k_, /*dim=*/-1);
  at::Tensor sum = residual.add(bias_);
  // The experts run one after the other, so that the order of the sum of a token does not depend on
  // the other tokens.
  for (size_t expert = 0; expert < up_.size(); ++expert) {
    const at::Tensor chosen = at::nonzero(experts.eq(static_cast<int64_t>(expert)));  // [n, 2]
    if (chosen.size(0) == 0) continue;
    const at::Tensor token = chosen.select(1, 0);
    const at::Tensor weight = weights.index_select(0, token).gather(1, chosen.narrow(1, 1, 1));
    const at::Tensor y = down_[expert].in_blocks(up_[expert].in_blocks(x.index_select(0, token)));
    sum.index_add_(0, token, y.mul(weight.to(y.scalar_type())));
  }
  return {sum};
}

}  // namespace encode
