// Models of real sizes for the tests of the memory model.
#pragma once

#include <string>

#include "run_plan/memory/memory_estimate.h"

namespace encode::testing {

inline constexpr int64_t kGigabyte = 1'000'000'000;

inline constexpr const char* kBertBase =
    R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
        "intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512,
        "type_vocab_size":2})";
inline constexpr const char* kMiniLm =
    R"({"model_type":"bert","hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,
        "intermediate_size":1536,"vocab_size":30522,"max_position_embeddings":512,
        "type_vocab_size":2})";
inline constexpr const char* kQwen2 =
    R"({"model_type":"qwen2","hidden_size":1536,"num_hidden_layers":28,"num_attention_heads":12,
        "num_key_value_heads":2,"intermediate_size":8960,"vocab_size":151936})";

inline void set_layers(ModelShape& shape, int64_t layers) {
  shape.num_hidden_layers = shape.stored_layers = layers;
  shape.attention_layers = shape.mlp_layers = layers;
}

inline MemoryRequest request_for(const std::string& config_json,
                                 ComputeType dtype = ComputeType::kBFloat16) {
  MemoryRequest request;
  request.shape = shape_of_config(config_json, "config.json");
  request.effective.pooling = {PoolingMode::kMean};
  request.effective.dtype = dtype;
  request.effective.max_length = 512;
  request.effective.dim = request.shape.hidden_size;
  request.effective.launch_tokens = launch_tokens(request.shape.hidden_size);
  request.batches = {.budget_tokens = 16384,
                     .launch_tokens = request.effective.launch_tokens,
                     .longest_row_tokens = 512};
  return request;
}

inline MemoryRequest cpu_request_for(const std::string& config_json, int64_t threads = 1) {
  MemoryRequest request = request_for(config_json, ComputeType::kFloat32);
  request.batches = {.budget_tokens = 512,
                     .launch_tokens = 0,
                     .longest_row_tokens = 512,
                     .batches_at_once = threads};
  return request;
}

}  // namespace encode::testing
