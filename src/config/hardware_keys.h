// The keys of the devices and of the host.
#pragma once

#include <vector>

#include "config/schema.h"

namespace encode {

std::vector<KeySpec> hardware_keys();

}  // namespace encode
