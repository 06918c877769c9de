// The frequencies of rotary position embedding (RoFormer, Su et al. 2021) and how models stretch
// them to longer texts.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace encode {

// The names are those of rope_type in config.json.
enum class RopeType {
  kDefault,
  kLinear,   // positions divided by `factor` (Chen et al. 2023)
  kDynamic,  // base raised with the length of the text, beyond max_position_embeddings
             // ("NTK-aware")
  kNtk,      // base raised once and for all, for texts `factor` times as long (GTE)
  kYarn,     // low frequencies divided by `factor`, high ones kept (Peng et al. 2023)
  kLlama3,   // the same idea with other bounds (Llama 3.1)
};

struct RopeParameters {
  RopeType type = RopeType::kDefault;
  int64_t head_dim = 0;
  double theta = 10000;  // base of the frequencies
  double factor = 1;
  int64_t max_position_embeddings = 0;           // kDynamic
  int64_t original_max_position_embeddings = 0;  // kYarn, kLlama3: the length trained with
  double low_freq_factor = 1;                    // kLlama3
  double high_freq_factor = 4;
  double beta_fast = 32;  // kYarn: rotations within the trained length that bound the ramp
  double beta_slow = 1;
  bool truncate = true;         // kYarn: bounds of the ramp at whole dimensions
  double attention_factor = 1;  // kYarn: scales cos and sin
};

// [head_dim / 2] float32 on the host, for texts of `length` tokens (which matters to kDynamic
// alone). Computed in float32 with the operations of the Hugging Face implementation
// (modeling_rope_utils.py): at position 8,000 a last-bit difference in a frequency is 1e-3 in an
// angle.
at::Tensor rope_frequencies(const RopeParameters& rope, int64_t length);

}  // namespace encode
