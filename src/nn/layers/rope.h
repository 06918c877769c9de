// The frequencies of rotary position embedding (RoFormer, Su et al. 2021), and the ways in which
// models adapt them to longer texts.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace encode {

// The values of rope_type in config.json.
enum class RopeType {
  kDefault,
  kLinear,   // positions are divided by `factor` (Chen et al. 2023)
  kDynamic,  // the base grows with the length of a text above max_position_embeddings ("NTK-aware")
  kNtk,      // the base is larger for all texts, which may be `factor` times as long (GTE)
  kYarn,     // low frequencies are divided by `factor`, high ones are kept (Peng et al. 2023)
  kLlama3,   // as kYarn, with other bounds (Llama 3.1)
};

struct RopeParameters {
  RopeType type = RopeType::kDefault;
  int64_t head_dim = 0;
  double theta = 10000;  // base of the frequencies
  double factor = 1;
  int64_t max_position_embeddings = 0;           // kDynamic
  int64_t original_max_position_embeddings = 0;  // kYarn, kLlama3: the trained length
  double low_freq_factor = 1;                    // kLlama3
  double high_freq_factor = 4;
  double beta_fast = 32;  // kYarn: the ramp is between these rotations within the trained length
  double beta_slow = 1;
  bool truncate = true;         // kYarn: the bounds of the ramp are rounded to whole dimensions
  double attention_factor = 1;  // kYarn: factor of cos and sin
};

// Returns the frequencies for texts of `length` tokens, [head_dim / 2] float32 on the host. Only
// kDynamic uses the length. The operations are those of Hugging Face Transformers
// (modeling_rope_utils.py), in float32, because at position 8,000 a difference in the last bit of a
// frequency changes the angle by 1e-3. `length` is at least 1, and head_dim is even. Throws no
// Error.
at::Tensor rope_frequencies(const RopeParameters& rope, int64_t length);

}  // namespace encode
