#pragma once

namespace encode::hub {

// The code of an Error about a file of the cache.
inline constexpr const char* kCacheCode = "hub.cache";

}  // namespace encode::hub
