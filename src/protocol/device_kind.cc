#include "protocol/device_kind.h"

#include <fmt/format.h>

namespace encode {

ChunkOrigin origin_of(const DeviceFacts& device) {
  return {.device = device.name,
          .libtorch = device.libtorch,
          .driver = device.driver,
          .products = device.products};
}

std::string describe(const ChunkOrigin& origin) {
  return fmt::format("{}, LibTorch {}{}{}", origin.device,
                     origin.libtorch.empty() ? "of unknown version" : origin.libtorch,
                     origin.driver.empty() ? "" : ", driver " + origin.driver,
                     origin.products.empty() ? "" : ", matrix products " + origin.products);
}

}  // namespace encode
