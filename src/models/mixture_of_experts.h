// Several feed-forward halves of which a router picks a few for each token (Shazeer et al. 2017).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/layers.h"

namespace encode {

struct ExpertsShape {
  Dim hidden;
  Dim inner;
  int64_t num_experts;
  int64_t top_k;  // experts for each token
  Activation activation;
};

// sum over the top_k experts e of p_e(x) x MLP_e(x), + bias; p is the router's softmax over all
// experts, not renormalized over the chosen ones. Names and layout are those of the MegaBlocks
// library: experts.mlp.w1 and w2 [num_experts x inner, hidden], experts.bias, router.layer.
class MixtureOfExperts {
 public:
  MixtureOfExperts(const ModuleLoader& mlp, const ExpertsShape& shape);

  // residual + the sum above, [T, hidden].
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const;
  const Linear& first() const { return router_; }

 private:
  Linear router_;
  std::vector<Linear> up_;
  std::vector<Linear> down_;
  at::Tensor bias_;
  int64_t top_k_;
};

}  // namespace encode
