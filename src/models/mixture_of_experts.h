// A mixture of experts (Shazeer et al. 2017). A router chooses a few of several MLPs for each
// token.
#pragma once

#include <cstdint>
#include <vector>

#include "models/layers.h"

namespace encode {

struct ExpertsShape {
  Dim hidden;
  Dim inner;  // the intermediate size of one expert
  int64_t num_experts;
  int64_t top_k;  // the number of experts for each token
  Activation activation;
};

//   MoE(x) = bias + sum of p_e(x) * MLP_e(x) over the top_k experts e with the largest p_e(x)
// p is the softmax of the router over all experts. It is not normalized again over the chosen
// experts. The tensors have the names and shapes of the MegaBlocks library:
//   experts.mlp.w1, experts.mlp.w2   [num_experts x inner, hidden]
//   experts.bias                     [hidden]
//   router.layer.weight              [num_experts, hidden]
// Immutable. Any number of threads may call it.
class MixtureOfExperts {
 public:
  // `mlp` is the scope of the tensors. Throws what ModuleLoader throws.
  MixtureOfExperts(const ModuleLoader& mlp, const ExpertsShape& shape);

  // Returns norm(x), [T, hidden], in the number format in which the router reads it. The result
  // also has plain rows, which the experts read.
  LinearInput input(const Norm& norm, ResidualSum x) const {
    return norm.for_product(std::move(x), router_);
  }
  // y + MoE(y), [T, hidden]. y is a result of input().
  ResidualSum add(const LinearInput& y) const;

 private:
  Linear router_;
  std::vector<Linear> up_;
  std::vector<Linear> down_;
  at::Tensor bias_;
  int64_t top_k_;
};

}  // namespace encode
