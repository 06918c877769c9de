// The frequencies of rotary position embedding (RoFormer, Su et al. 2021), and the ways in which
// models adapt them to longer texts. Any thread may call the function.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace encode {

// The values of rope_type in config.json.
enum class RopeType {
  kDefault,
  kLinear,   // positions are divided by `factor` (Chen et al. 2023)
  kDynamic,  // the base grows for a text of more than max_position_embeddings tokens ("NTK-aware")
  kNtk,      // the base is larger for all texts, so that they can be `factor` times as long (GTE)
  kYarn,    // low frequencies are divided by `factor`, high frequencies are kept (Peng et al. 2023)
  kLlama3,  // like kYarn, with other limits for low and high frequencies (Llama 3.1)
};

struct RopeParameters {
  RopeType type = RopeType::kDefault;
  int64_t head_dim = 0;  // the number of elements of a head that are rotated
  double theta = 10000;  // base of the frequencies
  double factor = 1;
  int64_t max_position_embeddings = 0;           // for kDynamic: the base grows above this length
  int64_t original_max_position_embeddings = 0;  // for kYarn and kLlama3: the trained length
  // For kLlama3: a frequency is divided by `factor` if it rotates less than low_freq_factor times
  // within the trained length, and kept if it rotates more than high_freq_factor times. Between the
  // two limits the change is gradual.
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  // For kYarn: as for kLlama3, but beta_slow is the lower limit and beta_fast the upper limit.
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;         // for kYarn: the limits are rounded to whole dimensions of a head
  double attention_factor = 1;  // for kYarn: cosines and sines are multiplied by this number
  // Frequencies that the checkpoint stores, [head_dim / 2] float32 on the host. If they are
  // defined, they take the place of the formula.
  at::Tensor stored = {};
};

// Returns the frequencies for texts of `length` tokens, [head_dim / 2] float32 on the host. Only
// kDynamic uses the length. The operations are the same as in Hugging Face Transformers
// (modeling_rope_utils.py), in float32, because at position 8,000 a difference in the last bit of a
// frequency changes the angle by 1e-3. `length` is at least 1, and head_dim is even. Throws no
// Error.
at::Tensor rope_frequencies(const RopeParameters& rope, int64_t length);

}  // namespace encode
