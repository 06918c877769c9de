#include "model_dir/intermediate_size.h"

#include "model_dir/limits.h"

namespace encode {

int64_t lfm2_intermediate_size(const JsonFields& config) {
  const int64_t stated = config.integer(
      config.has("block_ff_dim") ? "block_ff_dim" : "intermediate_size", 1, kMaxIntermediateSize);
  if (!config.boolean_or("block_auto_adjust_ff_dim", true)) return stated;
  const double factor = config.number_or("block_ffn_dim_multiplier", 1, kMinScaling, kMaxScaling);
  const int64_t multiple = config.integer_or("block_multiple_of", 256, 1, kMaxIntermediateSize);
  const int64_t two_thirds = 2 * stated / 3;
  const auto width = static_cast<int64_t>(factor * static_cast<double>(two_thirds));
  return (width + multiple - 1) / multiple * multiple;
}

}  // namespace encode
