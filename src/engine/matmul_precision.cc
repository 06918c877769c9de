#include "engine/matmul_precision.h"

#include <string>

#include <ATen/Context.h>

#include "encode/error.h"

#include "nn/amx_linear.h"
#include "nn/device.h"

namespace encode {

LayerPrecision::LayerPrecision(const ResultOptions& options, c10::Device device) {
  std::string precision(to_string(options.float32_matmul_precision));
  if (options.dtype == ComputeType::kInt8) {
    if (!device.is_cpu() || !has_amx()) {
      throw Error({.exit_code = ExitCode::kUnavailable,
                   .code = "device.int8",
                   .what = "dtype int8 is not offered on this device",
                   .where = device_description(device),
                   .expected = "a CPU with AMX (Intel Xeon from Sapphire Rapids on)",
                   .found = device.is_cpu() ? "a processor without AMX, or held back by "
                                              "ENCODE_CPU_CAPABILITY"
                                            : "a GPU",
                   .hint = "use bfloat16"});
    }
    precision = "medium";
  }
  at::globalContext().setFloat32MatmulPrecision(precision);
}

LayerPrecision::~LayerPrecision() { at::globalContext().setFloat32MatmulPrecision("highest"); }

}  // namespace encode
