#include "models/mixture_of_experts.h"

#include <fmt/format.h>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>

namespace encode {
namespace {

// The top_k x T choices of an expert by a token, sorted by expert and then by token.
struct Choices {
  at::Tensor order;              // for each choice its index in `experts`, flattened
  at::Tensor token;              // the token of each choice
  std::vector<int64_t> offsets;  // the choices of expert e are [offsets[e], offsets[e + 1])
};

// Sorts the choices. `experts` [T, top_k] int64 has the chosen experts of each token. On CUDA the
// host waits for the device once, to read the offsets.
Choices choices_by_expert(const at::Tensor& experts, int64_t num_experts) {
  const auto [sorted, order] =
      at::sort(experts.flatten(), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor offsets =
      at::searchsorted(sorted, at::arange(num_experts + 1, sorted.options())).cpu();
  const auto* const data = offsets.const_data_ptr<int64_t>();
  return {.order = order,
          .token = order.floor_divide(experts.size(1)),
          .offsets = {data, data + offsets.numel()}};
}

}  // namespace

MixtureOfExperts load_megablocks(const ModuleLoader& mlp, const ExpertsShape& shape) {
  const Dim rows = {fmt::format("num_experts x {}", shape.inner.label),
                    shape.num_experts * shape.inner.size};
  const at::Tensor up = mlp.tensor("experts.mlp.w1", {rows, shape.hidden});
  const at::Tensor down = mlp.tensor("experts.mlp.w2", {rows, shape.hidden});
  std::vector<FeedForward> experts;
  for (int64_t expert = 0; expert < shape.num_experts; ++expert) {
    const auto own = [&](const at::Tensor& all) {
      return all.narrow(0, expert * shape.inner.size, shape.inner.size);
    };
    experts.emplace_back(mlp.linear_of(own(up).clone(), {}, shape.activation),
                         mlp.linear_of(own(down).t().contiguous(), {}, Activation::kNone));
  }
  return MixtureOfExperts({.router = mlp.linear("router.layer", {"num_experts", shape.num_experts},
                                                shape.hidden, {.bias = false}),
                           .experts = std::move(experts),
                           .top_k = shape.top_k,
                           .bias = mlp.tensor("experts.bias", {shape.hidden})});
}

at::Tensor MixtureOfExperts::add_experts(const LinearInput& y, const at::Tensor& residual) const {
  const at::Tensor& x = y.rows;
  auto [weights, experts] =
      at::topk(at::softmax(parts_.router(y).to(at::kFloat), -1), parts_.top_k, /*dim=*/-1);
  if (parts_.normalize) weights = weights.div(weights.sum(-1, /*keepdim=*/true));
  const Choices choices = choices_by_expert(experts, static_cast<int64_t>(parts_.experts.size()));
  const at::Tensor weight = weights.flatten().index_select(0, choices.order).unsqueeze(1);
  at::Tensor sum = parts_.bias.defined() ? residual.add(parts_.bias) : residual.clone();
  // The experts run one after the other in ascending order. The order of the additions to a token
  // therefore does not depend on the other tokens.
  for (size_t expert = 0; expert < parts_.experts.size(); ++expert) {
    const int64_t begin = choices.offsets[expert];
    const int64_t count = choices.offsets[expert + 1] - begin;
    if (count == 0) continue;
    const at::Tensor token = choices.token.narrow(0, begin, count);
    const at::Tensor out = parts_.experts[expert].in_blocks(x.index_select(0, token));
    sum.index_add_(0, token, out.mul(weight.narrow(0, begin, count).to(out.scalar_type())));
  }
  return sum;
}

}  // namespace encode
