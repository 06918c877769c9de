#include "engine/chosen_product_format.h"

#include "encode/error.h"

#include "nn/cpu/packed_linear.h"
#include "nn/cuda/cuda_device.h"

namespace encode {
namespace {

void require_int8(c10::Device device) {
  if (device.is_cpu() && linear_kernel(ProductFormat::kInt8)) return;
  throw Error(
      {.code = "device.int8",
       .what = "this device does not support dtype int8",
       .where = device_description(device),
       .expected = "a CPU with AVX2",
       .found = device.is_cpu() ? "a CPU without it, or limited by ENCODE_CPU_CAPABILITY" : "a GPU",
       .hint = "use bfloat16"});
}

}  // namespace

ProductFormat product_format(const EffectiveResult& effective, c10::Device device) {
  switch (effective.dtype) {
    case ComputeType::kBFloat16:
      return ProductFormat::kBFloat16;
    case ComputeType::kFloat16:
      return ProductFormat::kFloat16;
    case ComputeType::kInt8:
      require_int8(device);
      return ProductFormat::kInt8;
    case ComputeType::kFp8:
      return ProductFormat::kFp8;
    case ComputeType::kFloat32:
      break;
  }
  return effective.float32_matmul_precision == MatmulPrecision::kHigh ? ProductFormat::kFloat32High
                                                                      : ProductFormat::kFloat32;
}

}  // namespace encode
