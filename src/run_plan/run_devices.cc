#include "run_plan/run_devices.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace encode {

std::vector<DeviceChoice> devices_of(const HardwareOptions& hardware) {
  if (hardware.all_devices) return {DeviceChoice()};
  if (hardware.devices.empty()) return {hardware.device};
  return hardware.devices;
}

HardwareOptions one_device(HardwareOptions hardware) {
  hardware.device = devices_of(hardware).front();
  hardware.devices.clear();
  hardware.all_devices = false;
  return hardware;
}

std::vector<DeviceChoice> all_devices(int64_t places) {
  std::vector<DeviceChoice> devices;
  for (int64_t place = 0; place < places; ++place)
    devices.push_back({.kind = DeviceChoice::Kind::kCuda, .number = place});
  return devices;
}

std::vector<std::string> device_labels(const std::vector<DeviceChoice>& devices) {
  if (devices.size() == 1) return {""};
  std::vector<std::string> labels;
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    const bool once = std::count(devices.begin(), devices.end(), *device) == 1;
    const auto number = std::count(devices.begin(), device, *device) + 1;
    const std::string name = to_string(*device);
    labels.push_back(once ? name : fmt::format("{}#{}", name, number));
  }
  return labels;
}

std::string describe_devices(const HardwareOptions& hardware) {
  if (hardware.all_devices) return "all";
  std::vector<std::string> names;
  for (const DeviceChoice& device : devices_of(hardware)) names.push_back(to_string(device));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace encode
