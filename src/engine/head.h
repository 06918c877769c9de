// What follows the transformer: pooling, dense layers, normalization, as the model directory and
// the options say.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/model_directory.h"

#include "nn/linear.h"
#include "nn/packed_input.h"

namespace encode {

// Immutable after loading; any number of threads.
class EmbeddingHead {
 public:
  // Dense weights are read in float32 whatever the compute type: they are small, and what they make
  // is the result.
  EmbeddingHead(const EffectiveResult& effective, at::Device device);

  // hidden_states [T, hidden_size] -> [B, dim] float32, on the device.
  at::Tensor operator()(const at::Tensor& hidden_states, const PackedInput& batch) const;

 private:
  std::vector<SentenceModule> modules_;
  std::vector<Linear> dense_;  // of the kDense modules, in their order
};

}  // namespace encode
