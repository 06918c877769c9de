// A transformer: token ids -> hidden states. Each architecture is one file that spells out its own
// block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/json.h"
#include "nn/packed_input.h"
#include "nn/product_format.h"
#include "weights/weights.h"

namespace encode {

// Immutable after loading; forward() may be called by any number of threads.
class Model {
 public:
  virtual ~Model() = default;

  // [T, hidden_size] in the compute type: last_hidden_state of the Hugging Face implementation,
  // packed. Every id of the batch must be in [0, vocab_size) and every position below the model's
  // limit; the engine checks both.
  //
  // Where batch.pooled_rows is defined, those rows alone, [P, hidden_size]: the last layer does
  // nothing after attention for the others. The bits of a row are the same on CPU; on CUDA they are
  // if all batches are given pooled_rows, or none.
  virtual at::Tensor forward(const PackedInput& batch) const = 0;
};

// How many of a model's products are in 8-bit floats.
struct Fp8Counts {
  int64_t quantized = 0;
  int64_t kept = 0;  // those that are not: their widths are no multiples of 16
};

// What a model is built from.
struct ModelSource {
  const JsonFields& config;  // config.json
  Weights& weights;
  at::Device device;
  ProductOptions products = {};  // of its layers, whose compute type the weights have
  Fp8Counts* fp8 = nullptr;      // for ProductFormat::kFp8: is told of each product that is loaded
  int64_t max_positions = 0;     // the longest sequence it will be given, in tokens
  std::optional<bool> causal;    // overrides config.json's is_causal
};

// Builds the architecture that config.json's model_type names. Throws Error: kConfig, "model.type"
// for one that is not supported (listing those that are), and whatever Weights and JsonFields
// throw.
std::unique_ptr<Model> load_model(const std::string& model_type, const ModelSource& source);

std::vector<std::string> supported_model_types();

}  // namespace encode
