// One loader for each architecture; the table in registry.cc names them.
#pragma once

#include <memory>

#include "models/model.h"

namespace encode {

// BERT (Devlin et al. 2018), post-norm encoder with absolute positions. Reference: transformers,
// models/bert.
std::unique_ptr<Model> load_bert(const ModelSource& source);

// Qwen2 (Yang et al. 2024), pre-norm decoder with rotary positions, grouped-query attention and
// biases on q, k and v; bidirectional where is_causal is false (gte-Qwen2, Qodo-Embed). Reference:
// transformers, models/qwen2.
std::unique_ptr<Model> load_qwen2(const ModelSource& source);

}  // namespace encode
