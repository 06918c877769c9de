#pragma once

#include "encode/error_code.h"

namespace encode::hub {

// The code of an Error about a file of the cache.
inline constexpr ErrorCode kCacheCode = "hub.cache";

}  // namespace encode::hub
