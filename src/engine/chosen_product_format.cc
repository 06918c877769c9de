#include "engine/chosen_product_format.h"

#include "encode/error.h"

#include "nn/cuda/cuda_device.h"

namespace encode {
namespace {

void require_int8(c10::Device device) {
  if (device.is_cpu() && linear_kernel(ProductFormat::kInt8)) return;
  throw Error(
      {.code = "device.int8",
       .what = "this device does not support dtype int8",
       .where = device_description(device),
       .expected = "a CPU with AVX2, or of 64-bit ARM",
       .found = device.is_cpu() ? "a CPU without it, or limited by ENCODE_CPU_CAPABILITY" : "a GPU",
       .hint = "give --dtype bfloat16 (semantic.dtype)"});
}

}  // namespace

ProductFormat product_format(const EffectiveResult& effective, c10::Device device) {
  if (effective.dtype == ComputeType::kInt8) require_int8(device);
  return format_of(effective.dtype, effective.float32_matmul_precision);
}

}  // namespace encode
