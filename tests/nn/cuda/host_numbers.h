// Reads and writes single numbers of the plugin's element types in host memory.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "nn/cuda/plugin.h"

namespace encode::testing {

inline float read(const void* from, EncodeCudaType type, int64_t i) {
  if (type == kEncodeCudaFloat16) return static_cast<const c10::Half*>(from)[i];
  if (type == kEncodeCudaBFloat16) return static_cast<const c10::BFloat16*>(from)[i];
  return static_cast<const float*>(from)[i];
}

inline void write(void* to, EncodeCudaType type, int64_t i, float value) {
  if (type == kEncodeCudaFloat16) {
    static_cast<c10::Half*>(to)[i] = value;
  } else if (type == kEncodeCudaBFloat16) {
    static_cast<c10::BFloat16*>(to)[i] = value;
  } else {
    static_cast<float*>(to)[i] = value;
  }
}

}  // namespace encode::testing
