#include "protocol/device_kind.h"

#include <fmt/format.h>
#include <utility>

namespace encode {

ChunkOrigin origin_of(const DeviceFacts& device) {
  return {.device = device.name,
          .libtorch = device.libtorch,
          .driver = device.driver,
          .kernels = device.kernels,
          .cuda_numerics = device.kernels.empty() ? 0 : kCudaNumericsVersion};
}

std::string describe(const ChunkOrigin& origin) {
  return fmt::format("{}, LibTorch {}{}{}{}", origin.device,
                     origin.libtorch.empty() ? "of unknown version" : origin.libtorch,
                     origin.driver.empty() ? "" : ", driver " + origin.driver,
                     origin.products.empty() ? "" : ", matrix products " + origin.products,
                     origin.kernels.empty() ? ""
                                            : fmt::format(", CUDA kernels {} (version {})",
                                                          origin.kernels, origin.cuda_numerics));
}

Error other_device_error(const ChunkOrigin& here, const ChunkOrigin& chunk, std::string path) {
  return Error({.code = "run.other_device",
                .what = "the chunks in the cache were computed on another kind of device, or with "
                        "other matrix products or CUDA kernels",
                .where = std::move(path),
                .expected = describe(here),
                .found = describe(chunk),
                .hint = "continue on the device of the first run, with the same "
                        "ENCODE_CUDA_KERNELS; or give --set hardware.strict_numerics=false; or "
                        "start over with --fresh, which deletes the chunks"});
}

}  // namespace encode
