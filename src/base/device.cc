#include "encode/device.h"

#include <fmt/format.h>

namespace encode {

std::string describe(const DeviceFacts& device) {
  if (device.kind == DeviceKind::kCpu) return device.name;
  return fmt::format("{} {}", device.place, device.name);
}

}  // namespace encode
