#include "supervisor/plan/devices.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace encode {

bool are_all_devices(const HardwareOptions& hardware) {
  return hardware.devices == std::vector<std::string>{kAllDevices};
}

std::vector<std::string> devices_of(const HardwareOptions& hardware) {
  if (hardware.devices.empty()) return {hardware.device};
  if (are_all_devices(hardware)) return {"auto"};
  return hardware.devices;
}

HardwareOptions one_device(HardwareOptions hardware) {
  hardware.device = devices_of(hardware).front();
  hardware.devices.clear();
  return hardware;
}

std::vector<std::string> all_devices(int64_t places) {
  std::vector<std::string> devices;
  for (int64_t place = 0; place < places; ++place) devices.push_back(fmt::format("cuda:{}", place));
  return devices;
}

std::vector<std::string> device_labels(const std::vector<std::string>& devices) {
  if (devices.size() == 1) return {""};
  std::vector<std::string> labels;
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    const bool once = std::count(devices.begin(), devices.end(), *device) == 1;
    const auto number = std::count(devices.begin(), device, *device) + 1;
    labels.push_back(once ? *device : fmt::format("{}#{}", *device, number));
  }
  return labels;
}

std::string describe_devices(const HardwareOptions& hardware) {
  if (hardware.devices.empty()) return hardware.device;
  return fmt::format("{}", fmt::join(hardware.devices, ", "));
}

}  // namespace encode
