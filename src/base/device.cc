#include "encode/device.h"

namespace encode {

std::string describe(const DeviceFacts& device) {
  return device.kind == DeviceKind::kCpu ? device.name : device.place + " " + device.name;
}

}  // namespace encode
