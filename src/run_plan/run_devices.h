// The devices on which a run computes. Any thread may call these functions. They throw no Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

// Returns the value of HardwareOptions::device for each worker of a run; there is at least one. For
// `all`, returns only "auto", because the first worker counts the devices.
std::vector<DeviceChoice> devices_of(const HardwareOptions& hardware);
// Returns the options of a run on only the first of the devices.
HardwareOptions one_device(HardwareOptions hardware);
// Returns what devices_of() returns for `all` on a machine with `places` GPUs.
std::vector<DeviceChoice> all_devices(int64_t places);

// Returns a name for each device, for messages: "cuda:1", or "cpu#2" if a device occurs more than
// once. A single device has the name "".
std::vector<std::string> device_labels(const std::vector<DeviceChoice>& devices);

// Returns the devices as the config names them: "auto", "cuda:0, cuda:1".
std::string describe_devices(const HardwareOptions& hardware);

}  // namespace encode
