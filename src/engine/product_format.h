// From the options of a result to what the layers of its model multiply.
#pragma once

#include <c10/core/Device.h>

#include "encode/config.h"

#include "nn/layers/product_format.h"

namespace encode {

// The format of the layers' products for `dtype`, which is what options.dtype stands for with this
// model. float32_matmul_precision counts for float32 alone. Throws Error kUnavailable "device.int8"
// for int8 on a device that has no such products. Whether the device has fp8 products is not
// checked.
ProductFormat product_format(const ResultOptions& options, ComputeType dtype, c10::Device device);

}  // namespace encode
