// All sets of kernels that this processor can run, to compare them with each other.
#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace encode::kernels {

// The best set is the last.
inline std::vector<const Kernels*> usable_kernels() {
  std::vector<const Kernels*> usable;
  for (int i = 0; i <= static_cast<int>(processor_capability()); ++i) {
    const Kernels* set = kernels_of(static_cast<Capability>(i));
    // Two capabilities may share a set.
    if (set != nullptr && (usable.empty() || usable.back() != set)) usable.push_back(set);
  }
  return usable;
}

}  // namespace encode::kernels
