// The types and sizes of tensors in a file of weights. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "encode/model_directory.h"

namespace encode {

using TensorMap = std::map<std::string, TensorInfo>;

// The types that a model can compute with, for messages. F64 is rounded to float32 when it is read.
inline constexpr std::string_view kWeightTypes = "F32, F16, BF16 or F64";

// Returns the bytes of one element, or 0 if the dtype is not known.
int64_t dtype_bytes(std::string_view dtype);

// Returns true for one of kWeightTypes.
bool is_weight_type(std::string_view dtype);

// Returns "[384, 1536]".
std::string shape_text(std::span<const int64_t> shape);

// Returns the size of a tensor in bytes, which is at least 1. No other code computes this size.
// `where` names the tensor for messages. Throws Error "model.dtype" if the dtype is not known.
// Throws Error "model.shape" if the rank is above 8, a dimension is not in [1, 2^40], or the size
// does not fit in 63 bits.
int64_t checked_bytes(std::span<const int64_t> shape, std::string_view dtype,
                      const std::string& where);

}  // namespace encode
