// Chooses the number format of the matrix products in a model's layers. Any thread may call it.
#pragma once

#include <c10/core/Device.h>

#include "encode/model_directory.h"

#include "nn/layers/product_format.h"

namespace encode {

// Returns the format for effective.dtype. Only float32 reads float32_matmul_precision. Throws Error
// "device.int8" (ExitCode::kUnavailable) for int8 on a device without int8 matrix products. Does
// not check whether the device can multiply fp8 numbers; load_transformer() does.
ProductFormat product_format(const EffectiveResult& effective, c10::Device device);

}  // namespace encode
