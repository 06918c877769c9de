#include "encode/device.h"

#include <charconv>
#include <fmt/format.h>

#include "base/names.h"

namespace encode {
namespace {

constexpr std::string_view kNumbered = "cuda:";
constexpr NameTable<DeviceChoice::Kind, 3> kKinds = {{{"auto", DeviceChoice::Kind::kAuto},
                                                      {"cpu", DeviceChoice::Kind::kCpu},
                                                      {"cuda", DeviceChoice::Kind::kCuda}}};

}  // namespace

std::string describe(const DeviceFacts& device) {
  if (device.kind == DeviceKind::kCpu) return device.name;
  return fmt::format("{} {}", device.place, device.name);
}

std::string to_string(const DeviceChoice& device) {
  if (device.number) return fmt::format("{}{}", kNumbered, *device.number);
  return std::string(name_of(kKinds, device.kind));
}

std::optional<DeviceChoice> find_device(std::string_view name) {
  if (const auto kind = find_value(kKinds, name)) return DeviceChoice{.kind = *kind};
  if (!name.starts_with(kNumbered)) return std::nullopt;
  int64_t number = -1;
  std::from_chars(name.data() + kNumbered.size(), name.data() + name.size(), number);
  const DeviceChoice device = {.kind = DeviceChoice::Kind::kCuda, .number = number};
  // Refuses other spellings of a number, as in "cuda:01" and "cuda:1x".
  if (number < 0 || number > kMostDeviceNumber || to_string(device) != name) return std::nullopt;
  return device;
}

DeviceChoice parse_device(std::string_view name) {
  const std::optional<DeviceChoice> device = find_device(name);
  if (!device) refuse_unchecked_name(name);
  return *device;
}

}  // namespace encode
