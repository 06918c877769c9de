#include "encode/device.h"

#include <charconv>
#include <fmt/format.h>
#include <string_view>

#include "base/cuda_ordinal.h"

namespace encode {

std::string describe(const DeviceFacts& device) {
  if (device.kind == DeviceKind::kCpu) return device.name;
  return fmt::format("{} {}", device.place, device.name);
}

int64_t cuda_ordinal(const std::string& device) {
  constexpr std::string_view kPrefix = "cuda:";
  int64_t ordinal = 0;
  if (device.starts_with(kPrefix))
    std::from_chars(device.data() + kPrefix.size(), device.data() + device.size(), ordinal);
  return ordinal;
}

}  // namespace encode
