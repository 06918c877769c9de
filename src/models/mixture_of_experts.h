// A mixture of experts (Shazeer et al. 2017). A router chooses a few of several MLPs for each
// token.
#pragma once

#include <cstdint>
#include <vector>

#include "models/layers.h"

namespace encode {

struct ExpertParts {
  Linear router;  // [num_experts] outputs
  std::vector<FeedForward> experts;
  int64_t top_k;           // the number of experts for each token
  at::Tensor bias = {};    // [hidden]; undefined: no bias
  bool normalize = false;  // divide the p_e of the chosen experts by their sum
};

//   MoE(x) = bias + sum of p_e(x) * MLP_e(x) over the top_k experts e with the largest p_e(x)
// p is the softmax of the router over all experts. Immutable. Any number of threads may call it.
class MixtureOfExperts {
 public:
  explicit MixtureOfExperts(ExpertParts parts) : parts_(std::move(parts)) {}

  // Returns norm(x), [T, hidden], in the number format in which the router reads it. The result
  // also has plain rows, which the experts read.
  LinearInput input(const Norm& norm, ResidualSum x) const {
    return norm.for_product(std::move(x), parts_.router);
  }
  // Returns y + MoE(y), [T, hidden]. y is a result of input().
  ResidualSum add(const LinearInput& y) const { return {add_experts(y, y.rows)}; }
  // Returns x + MoE(norm(x)).
  ResidualSum add(const Norm& norm, ResidualSum x) const {
    const at::Tensor residual = x.total();
    return {add_experts(input(norm, {residual}), residual)};
  }

 private:
  // Returns a new tensor residual + MoE(y).
  at::Tensor add_experts(const LinearInput& y, const at::Tensor& residual) const;

  ExpertParts parts_;
};

struct ExpertsShape {
  Dim hidden;
  Dim inner;  // the intermediate size of one expert
  int64_t num_experts;
  int64_t top_k;
  Activation activation;
};
// Loads experts with plain MLPs and a bias from tensors with the names and shapes of the MegaBlocks
// library:
//   experts.mlp.w1, experts.mlp.w2   [num_experts x inner, hidden]
//   experts.bias                     [hidden]
//   router.layer.weight              [num_experts, hidden]
// `mlp` is the scope of the tensors. Throws what ModuleLoader throws.
MixtureOfExperts load_megablocks(const ModuleLoader& mlp, const ExpertsShape& shape);

}  // namespace encode
