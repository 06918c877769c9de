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

  // hidden_states [T, hidden_size] -> [B, dim] float32, on the device; finish() is still to be
  // done.
  at::Tensor operator()(const at::Tensor& hidden_states, const PackedInput& batch) const;

  // The closing normalization, where there is one, in place on the host: a device's reduction
  // kernels may split a row's sum in another way for another number of rows.
  void finish(at::Tensor& embeddings) const;

 private:
  std::vector<SentenceModule> modules_;  // without the closing normalization
  bool normalize_last_ = false;
  std::vector<Linear> dense_;  // of the kDense modules, in their order
};

}  // namespace encode
