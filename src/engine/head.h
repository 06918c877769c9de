// The modules that follow the transformer: pooling, dense layers and normalization, as the model
// directory and the options state them.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/model_directory.h"

#include "nn/layers/packed_input.h"
#include "nn/layers/product_format.h"

namespace encode {

// Immutable after loading. Any number of threads may call it.
class EmbeddingHead {
 public:
  // The weights and the products of the modules are float32, even if the model has another type.
  // They are small, and their output is the result. `files` has the files of the weights open.
  // `products` has the options of the model's products. Throws what WeightScope::take() throws.
  EmbeddingHead(const EffectiveResult& effective, const OpenedFiles& files, at::Device device,
                ProductOptions products);

  const std::vector<PoolingMode>& pooling() const { return pooling_; }

  // Takes the hidden states of all tokens, [T, hidden_size], or of batch.pooled_rows alone. Returns
  // float32 [B, width], or [T, width] without pooling, on the device. The caller copies the result
  // to the host and calls finish().
  at::Tensor operator()(const at::Tensor& hidden_states, const PackedInput& batch) const;

  // Applies the modules after the last module with weights: normalizations and the cut to
  // truncate_dim. They run on the host, because the reduction kernels of a device may split the sum
  // of a row differently for another number of rows. `embeddings` becomes [B, dim], contiguous.
  void finish(at::Tensor& embeddings) const;

 private:
  using Step = std::function<at::Tensor(const at::Tensor&)>;  // [B, n] float32 -> [B, m]

  std::vector<PoolingMode> pooling_;
  std::vector<Step> on_device_;
  std::vector<Step> on_host_;
};

}  // namespace encode
