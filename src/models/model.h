// A transformer: from token ids to hidden states. Each architecture has a file that spells out its
// own layer (architectures.h lists them).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/json.h"
#include "nn/layers/packed_input.h"
#include "nn/layers/product_format.h"
#include "weights/weights.h"

namespace encode {

// Immutable after loading; forward() may be called by any number of threads.
class Model {
 public:
  virtual ~Model() = default;

  // Returns last_hidden_state of the Hugging Face implementation for the packed sequences of the
  // batch: [T, hidden_size] in the compute type, on the model's device. Every id of the batch must
  // be in [0, vocab_size) and every position below ModelSource::max_positions; the engine checks
  // both.
  //
  // If batch.pooled_rows is defined, the result holds the rows of those tokens alone,
  // [P, hidden_size], and the last layer does nothing after attention for the other tokens. On CPU
  // a row has the same bits either way; on CUDA it has them if all batches come with pooled_rows,
  // or none.
  virtual at::Tensor forward(const PackedInput& batch) const = 0;
};

// How many of a model's products are in 8-bit floats.
struct Fp8Counts {
  int64_t quantized = 0;
  int64_t kept = 0;  // products in the compute type, because their widths are no multiples of 16
};

// What a model is built from. Borrowed while the model is loaded.
struct ModelSource {
  const JsonFields& config;  // config.json
  Weights& weights;
  at::Device device;
  ProductOptions products = {};  // of its layers, whose compute type the weights have
  Fp8Counts* fp8 = nullptr;      // for ProductFormat::kFp8: is told of each product that is loaded
  int64_t max_positions = 0;     // the longest sequence it will be given, in tokens
  std::optional<bool> causal;    // overrides config.json's is_causal
};

// Builds the architecture that model_type of config.json names. Throws Error (ExitCode::kConfig):
// "model.type" with the list of supported types if this one is not supported; "model.config" if a
// field of config.json is missing or out of range; "model.tensor" or "model.shape" if the tensors
// do not fit config.json.
std::unique_ptr<Model> load_model(const std::string& model_type, const ModelSource& source);

// Every model_type that load_model() takes, sorted.
std::vector<std::string> supported_model_types();

}  // namespace encode
