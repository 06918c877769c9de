#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "run_plan/memory/memory_estimate.h"

namespace encode {

inline constexpr int64_t kMib = int64_t{1} << 20;

inline MemoryPart part(MemoryKind kind, int64_t bytes, std::string why) {
  return {.kind = kind, .bytes = bytes, .why = std::move(why)};
}

}  // namespace encode
