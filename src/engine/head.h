// What follows the transformer: pooling, dense layers, normalization, as the model directory and
// the options say.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/model_directory.h"

#include "nn/layers/packed_input.h"
#include "nn/layers/product_format.h"

namespace encode {

// Immutable after loading; any number of threads.
class EmbeddingHead {
 public:
  // The modules' weights and products are float32 whatever the format of the model's: they are
  // small, and what they make is the result.
  // `trace`: is told of the products; must outlive the head.
  EmbeddingHead(const EffectiveResult& effective, at::Device device, ProductTrace* trace);

  const std::vector<PoolingMode>& pooling() const { return pooling_; }

  // hidden_states [T, hidden_size], or the rows of batch.pooled_rows -> float32 [B, width], [T,
  // width] without pooling, on the device; finish() is still to be done.
  at::Tensor operator()(const at::Tensor& hidden_states, const PackedInput& batch) const;

  // The closing normalizations and the cut to truncate_dim, where there are any, on the host: a
  // device's reduction kernels may split a row's sum in another way for another number of rows.
  // `embeddings` becomes [B, dim], contiguous.
  void finish(at::Tensor& embeddings) const;

 private:
  using Step = std::function<at::Tensor(const at::Tensor&)>;  // [B, n] float32 -> [B, m]

  std::vector<PoolingMode> pooling_;
  std::vector<Step> on_device_;
  std::vector<Step> on_host_;
};

}  // namespace encode
