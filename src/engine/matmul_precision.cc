#include "engine/matmul_precision.h"

#include <string>

#include <ATen/Context.h>

#include "encode/error.h"

#include "nn/device.h"
#include "nn/packed_linear.h"

namespace encode {
namespace {

void require_int8(c10::Device device) {
  if (device.is_cpu() && int8_kernel()) return;
  throw Error({.exit_code = ExitCode::kUnavailable,
               .code = "device.int8",
               .what = "dtype int8 is not offered on this device",
               .where = device_description(device),
               .expected = "a CPU with AMX or AVX512_VNNI (Intel Xeon from Cascade Lake on, AMD "
                           "EPYC from Genoa on)",
               .found = device.is_cpu() ? "a processor with neither, or held back by "
                                          "ENCODE_CPU_CAPABILITY"
                                        : "a GPU",
               .hint = "use bfloat16"});
}

}  // namespace

LayerPrecision::LayerPrecision(const EffectiveResult& effective, c10::Device device) {
  std::string precision(to_string(effective.float32_matmul_precision));
  if (effective.dtype == ComputeType::kInt8) {
    require_int8(device);
    precision = "medium";
  }
  at::globalContext().setFloat32MatmulPrecision(precision);
}

LayerPrecision::~LayerPrecision() { at::globalContext().setFloat32MatmulPrecision("highest"); }

}  // namespace encode
