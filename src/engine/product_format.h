// From the options of a result to what the layers of its model multiply.
#pragma once

#include <c10/core/Device.h>

#include "encode/model_directory.h"

#include "nn/layers/product_format.h"

namespace encode {

// The format of the layers' products for effective.dtype; float32_matmul_precision counts for
// float32 alone. Throws Error kUnavailable "device.int8" for int8 on a device that has no such
// products. Whether the device has products of fp8 is not asked here.
ProductFormat product_format(const EffectiveResult& effective, c10::Device device);

}  // namespace encode
