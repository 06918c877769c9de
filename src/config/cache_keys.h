// The keys of the embedding cache.
#pragma once

#include <vector>

#include "config/schema.h"

namespace encode {

std::vector<KeySpec> cache_keys();

}  // namespace encode
