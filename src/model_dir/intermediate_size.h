// Widths of an MLP that config.json does not state as they are. models and memory need them.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace encode {

// Returns the width of LFM2's MLP. Unless block_auto_adjust_ff_dim is false, config.json states the
// width of a plain MLP with as many weights: the gated one has two thirds of it, times
// block_ffn_dim_multiplier, rounded up to a multiple of block_multiple_of. The fields and their
// defaults are those of Lfm2Config and Lfm2MLP in transformers. Throws Error "model.config" if a
// field is missing or out of range.
int64_t lfm2_intermediate_size(const JsonFields& config);

}  // namespace encode
