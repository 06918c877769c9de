// Loads a model of tests/data/models, and the token sequences that are stored with the model and
// its expected hidden states.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/batch.h"
#include "encode/model_directory.h"

#include "base/json.h"
#include "models/model.h"

namespace encode::testing {

class LoadedModel {
 public:
  // Loads the model directory `folder` on the CPU.
  LoadedModel(const std::string& folder, ProductFormat format);
  LoadedModel(const std::string& folder, at::ScalarType type)
      : LoadedModel(folder, format_of(type)) {}

  // Returns the hidden states of the tokens of the batch, [tokens, hidden_size].
  at::Tensor forward(const PackedBatch& batch) const;
  const Model& model() const { return *model_; }
  const Fp8Counts& fp8() const { return fp8_; }
  const ModelDirectory& directory() const { return directory_; }
  const Weights& weights() const { return weights_; }

 private:
  ModelDirectory directory_;
  Json config_;
  JsonFields fields_;
  Weights weights_;
  Fp8Counts fp8_;
  std::unique_ptr<Model> model_;
};

// Packs some sequences of the model `name` of tests/data/models into a batch. `which` has the
// numbers of these sequences.
PackedBatch pack_sequences(const std::string& name, const std::vector<int64_t>& which);
// Returns the numbers of all sequences of the model `name`: 0, 1, and so on.
std::vector<int64_t> all_rows(const std::string& name);

}  // namespace encode::testing
