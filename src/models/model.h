// A transformer without its head: from token ids to hidden states. Each family of architectures has
// a file with its layer (architectures.h lists them).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "base/json.h"
#include "model_dir/model_sizes.h"
#include "models/weights.h"
#include "nn/layers/packed_input.h"
#include "nn/layers/product_format.h"

namespace encode {

// Immutable after loading. Any number of threads may call forward().
class Model {
 public:
  virtual ~Model() = default;

  // Returns last_hidden_state of the Hugging Face implementation for the packed sequences of the
  // batch: [T, hidden_size] in the compute type, on the model's device. Every id of the batch must
  // be in [0, vocab_size), and every position must be below ModelSource::max_positions. The engine
  // checks both.
  //
  // If batch.pooled_rows is defined, returns only the rows of these tokens, [P, hidden_size]. For
  // the other tokens the last layer then computes nothing after attention. On CPU a row has the
  // same bits with and without pooled_rows. On CUDA the bits may differ, so in one run either all
  // batches or none may have pooled_rows.
  virtual at::Tensor forward(const PackedInput& batch) const = 0;
};

// How many matrix products of an fp8 model are computed in 8-bit floats, and how many are not.
struct Fp8Counts {
  int64_t quantized = 0;  // in 8-bit floats
  int64_t kept = 0;       // in the compute type, because a width is not a multiple of 16
};

// The input of load_model(). The references need to be valid only until load_model() returns.
struct ModelSource {
  const JsonFields& config;  // config.json
  const Json& document;      // the same file, for states_null() (config_fields.h)
  Weights& weights;
  at::Device device;
  // For all layers. The compute type of the format must be the compute type of `weights`.
  ProductOptions products = {};
  Fp8Counts* fp8 = nullptr;    // receives the counts for the loaded layers; may be nullptr
  int64_t max_positions = 0;   // the length of the longest sequence, in tokens
  std::optional<bool> causal;  // overrides config.json's is_causal
  ModelSizes sizes = {};       // load_model() fills them in, from `config` and `causal`
};

// Builds the architecture that model_type of config.json names. Throws Error (ExitCode::kConfig):
//   "model.type"                    if the type is not supported; lists the supported types
//   "model.config"                  if a field of config.json is missing or out of range
//   "model.tensor", "model.shape"   if the tensors do not fit config.json
std::unique_ptr<Model> load_model(const std::string& model_type, const ModelSource& source);

}  // namespace encode
