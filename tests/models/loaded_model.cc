#include "loaded_model.h"

#include <algorithm>

#include <c10/core/InferenceMode.h>

#include "nn/products/row_blocks.h"
#include "npy_tensor.h"
#include "support/temp_dir.h"

namespace encode::testing {

LoadedModel::LoadedModel(const std::string& folder, ProductFormat format)
    : directory_(open_model_directory(folder)),
      config_(parse_json(directory_.config_json, {}, "config.json", "model.config")),
      fields_(config_, "config.json", "model.config"),
      weights_(directory_.tensors, *directory_.opened,
               {.dtype = compute_type(format), .origin = directory_.path}),
      model_(load_model(directory_.model_type, {.config = fields_,
                                                .document = config_,
                                                .weights = weights_,
                                                .device = at::kCPU,
                                                .products = {.format = format},
                                                .fp8 = &fp8_,
                                                .max_positions = 64,
                                                .causal = directory_.recipe_causal})) {}

at::Tensor LoadedModel::forward(const PackedBatch& batch) const {
  const c10::InferenceMode inference;
  return model_->forward(to_device(batch, kProductBlockRows, at::kCPU))
      .narrow(0, 0, batch.tokens());
}

PackedBatch pack_sequences(const std::string& name, const std::vector<int64_t>& which) {
  const at::Tensor ids = load_npy(test_data("models/" + name + "/input_ids.npy"));
  const at::Tensor lengths = load_npy(test_data("models/" + name + "/lengths.npy"));
  PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (const int64_t row : which) {
    const int32_t length = lengths[row].item<int32_t>();
    for (int32_t t = 0; t < length; ++t) {
      batch.input_ids.push_back(ids[row][t].item<int32_t>());
      batch.position_ids.push_back(t);
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    batch.sequence_numbers.push_back(row);
    batch.max_seqlen = std::max(batch.max_seqlen, length);
  }
  return batch;
}

std::vector<int64_t> all_rows(const std::string& name) {
  const int64_t count = load_npy(test_data("models/" + name + "/lengths.npy")).size(0);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < count; ++row) rows.push_back(row);
  return rows;
}

}  // namespace encode::testing
